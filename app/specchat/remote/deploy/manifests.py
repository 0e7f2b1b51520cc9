"""The same servers in containers: a compose file, and a manifest for Kubernetes.

Both are YAML. Texts are written as JSON strings, which YAML understands.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

from specchat.bench.exports import ExportTarget
from specchat.remote.deploy.commands import Where, command, is_file
from specchat.remote.deploy.plan import ServerPlan

_IMAGES = {ExportTarget.VLLM: "vllm/vllm-openai:v0.32.0", ExportTarget.SGLANG: "lmsysorg/sglang:v0.5.23"}
_LLAMA = "ghcr.io/ggml-org/llama.cpp:server"
_NAME = "specchat-target"
_KEY = "SPECCHAT_API_KEY"
_CACHES = {
    ExportTarget.VLLM: "/root/.cache/huggingface",
    ExportTarget.SGLANG: "/root/.cache/huggingface",
    ExportTarget.LLAMA_SERVER: "/root/.cache",
}
_FILES = "/models"


def compose(plan: ServerPlan, where: Where) -> str:
    """A compose file. The server is reachable from this machine only, with the key in SPECCHAT_API_KEY."""
    key = f"${{{_KEY}:?set it to the key that clients have to give}}"
    service: dict[str, Any] = {
        "image": _image(plan, where),
        "entrypoint": _entry(plan),
        "command": [*_words(plan, where), "--api-key", key],
        "ports": [f"127.0.0.1:{where.port}:{where.port}"],
        "environment": {"HF_TOKEN": "${HF_TOKEN:-}"},
        "volumes": [f"cache:{_CACHES[plan.tool]}", *(f"{file}:{_inside(file)}:ro" for file in _files(plan))],
        "ipc": "host",
    }
    if where.gpus:
        device = {"driver": "nvidia", "count": where.gpus, "capabilities": ["gpu"]}
        service["deploy"] = {"resources": {"reservations": {"devices": [device]}}}
    return _yaml({"services": {_NAME: service}, "volumes": {"cache": {}}})


def kubernetes(plan: ServerPlan, where: Where) -> str:
    """A Deployment and a Service. The key comes from the secret `specchat-target`, files from the claim `models`."""
    labels = {"app": _NAME}
    secret = {"secretKeyRef": {"name": _NAME, "key": "api-key"}}
    token = {"secretKeyRef": {"name": _NAME, "key": "hf-token", "optional": True}}
    volumes: list[dict[str, Any]] = [
        {"name": "cache", "emptyDir": {}},
        {"name": "shared-memory", "emptyDir": {"medium": "Memory"}},
    ]
    mounts: list[dict[str, Any]] = [
        {"name": "cache", "mountPath": _CACHES[plan.tool]},
        {"name": "shared-memory", "mountPath": "/dev/shm"},
    ]
    if _files(plan):
        volumes.append({"name": "models", "persistentVolumeClaim": {"claimName": "models", "readOnly": True}})
        mounts.append({"name": "models", "mountPath": _FILES, "readOnly": True})
    container: dict[str, Any] = {
        "name": "server",
        "image": _image(plan, where),
        "command": _entry(plan),
        "args": [*_words(plan, where), "--api-key", f"$({_KEY})"],
        "env": [{"name": _KEY, "valueFrom": secret}, {"name": "HF_TOKEN", "valueFrom": token}],
        "ports": [{"name": "http", "containerPort": where.port}],
        "readinessProbe": {"httpGet": {"path": "/health", "port": "http"}, "periodSeconds": 5},
        "startupProbe": {
            "httpGet": {"path": "/health", "port": "http"},
            "periodSeconds": 10,
            "failureThreshold": 360,
        },
        "volumeMounts": mounts,
    }
    if where.gpus:
        container["resources"] = {"limits": {"nvidia.com/gpu": where.gpus}}
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": _NAME, "labels": labels},
        "spec": {
            "replicas": 1,
            "strategy": {"type": "Recreate"},
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container], "volumes": volumes}},
        },
    }
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": _NAME, "labels": labels},
        "spec": {"selector": labels, "ports": [{"name": "http", "port": where.port, "targetPort": "http"}]},
    }
    return f"{_yaml(deployment)}---\n{_yaml(service)}"


def _image(plan: ServerPlan, where: Where) -> str:
    return _IMAGES.get(plan.tool, f"{_LLAMA}-cuda" if where.gpus else _LLAMA)


def _entry(plan: ServerPlan) -> list[str]:
    """The program in the container, in place of the image's own, which differ between versions."""
    match plan.tool:
        case ExportTarget.VLLM:
            return ["vllm", "serve"]
        case ExportTarget.SGLANG:
            return ["python3", "-m", "sglang.launch_server"]
        case ExportTarget.LLAMA_SERVER:
            return ["/app/llama-server"]


def _words(plan: ServerPlan, where: Where) -> list[str]:
    """The arguments of the program, with files where the container has them."""
    inside = replace(where, host="0.0.0.0")
    words = command(plan, inside)[len(_entry(plan)) :]
    return [_inside(word) if is_file(word) else word for word in words]


def _files(plan: ServerPlan) -> list[str]:
    """The models that are files."""
    return [name for name in (plan.target, plan.draft) if name and is_file(name)]


def _inside(file: str) -> str:
    """Where the container has a file."""
    return f"{_FILES}/{PurePosixPath(file).name}"


def _yaml(value: Mapping[str, Any]) -> str:
    return "".join(f"{line}\n" for line in _lines(value))


def _lines(value: Any) -> Iterator[str]:
    """The lines of a mapping or a list that is not empty; scalars stand beside their key."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            if _is_block(item):
                yield f"{name}:"
                indent = "" if isinstance(item, list) else "  "
                yield from (f"{indent}{line}" for line in _lines(item))
            else:
                yield f"{name}: {json.dumps(item, ensure_ascii=False)}"
        return
    for item in value:
        first, *others = _lines(item) if _is_block(item) else [json.dumps(item, ensure_ascii=False)]
        yield f"- {first}"
        yield from (f"  {line}" for line in others)


def _is_block(value: Any) -> bool:
    return isinstance(value, Mapping | Sequence) and not isinstance(value, str) and bool(value)
