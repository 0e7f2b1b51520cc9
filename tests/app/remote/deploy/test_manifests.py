from __future__ import annotations

from typing import Any

import pytest

from specchat.bench.exports import ExportTarget
from specchat.remote.deploy.commands import Where, command
from specchat.remote.deploy.manifests import compose, kubernetes
from specchat.remote.deploy.plan import ServerPlan, plan

yaml = pytest.importorskip("yaml")

PLANS = [plan(tool, model) for tool in ExportTarget for model in ("qwen3-8b", "gpt-oss-20b")]
FILES = plan(ExportTarget.LLAMA_SERVER, "/data/a.gguf", "/other/b.gguf")
TWO = Where("127.0.0.1", 8123, gpus=2)


def service(planned: ServerPlan, where: Where = TWO) -> Any:
    (found,) = yaml.safe_load(compose(planned, where))["services"].values()
    return found


def deployment(planned: ServerPlan, where: Where = TWO) -> tuple[Any, Any]:
    return tuple(yaml.safe_load_all(kubernetes(planned, where)))


@pytest.mark.parametrize("planned", PLANS)
def test_containers_run_the_same_command_with_a_key(planned: ServerPlan) -> None:
    words = command(planned, Where("0.0.0.0", 8123, gpus=2))
    composed = service(planned)
    assert [*composed["entrypoint"], *composed["command"][:-2]][1:] == words[1:]
    assert composed["command"][-2:] == ["--api-key", "${SPECCHAT_API_KEY:?set it to the key that clients have to give}"]
    container = deployment(planned)[0]["spec"]["template"]["spec"]["containers"][0]
    assert [*container["command"], *container["args"][:-2]][1:] == words[1:]
    assert container["args"][-2:] == ["--api-key", "$(SPECCHAT_API_KEY)"]


def test_a_compose_file_opens_the_port_for_this_machine_only() -> None:
    composed = service(PLANS[0])
    assert composed["ports"] == ["127.0.0.1:8123:8123"]
    (device,) = composed["deploy"]["resources"]["reservations"]["devices"]
    assert (device["driver"], device["count"], device["capabilities"]) == ("nvidia", 2, ["gpu"])


def test_without_gpus_none_are_reserved() -> None:
    where = Where("127.0.0.1", 8080, gpus=0)
    assert "deploy" not in service(FILES, where)
    assert service(FILES, where)["image"] == "ghcr.io/ggml-org/llama.cpp:server"
    container = deployment(FILES, where)[0]["spec"]["template"]["spec"]["containers"][0]
    assert "resources" not in container


def test_files_are_mounted_where_the_command_names_them() -> None:
    composed = service(FILES)
    assert composed["volumes"][1:] == ["/data/a.gguf:/models/a.gguf:ro", "/other/b.gguf:/models/b.gguf:ro"]
    assert {"/models/a.gguf", "/models/b.gguf"} <= set(composed["command"])
    spec = deployment(FILES)[0]["spec"]["template"]["spec"]
    assert {"name": "models", "persistentVolumeClaim": {"claimName": "models", "readOnly": True}} in spec["volumes"]


def test_a_manifest_has_a_deployment_and_a_service_that_finds_it() -> None:
    deployed, served = deployment(PLANS[0])
    assert (deployed["kind"], served["kind"]) == ("Deployment", "Service")
    assert served["spec"]["selector"] == deployed["spec"]["template"]["metadata"]["labels"]
    assert deployed["spec"]["selector"]["matchLabels"] == served["spec"]["selector"]
    container = deployed["spec"]["template"]["spec"]["containers"][0]
    assert container["resources"] == {"limits": {"nvidia.com/gpu": 2}}
    assert container["readinessProbe"]["httpGet"] == {"path": "/health", "port": "http"}


def test_names_that_yaml_would_read_as_something_else_stay_texts() -> None:
    composed = service(ServerPlan(ExportTarget.VLLM, 'o: "rg"/#x', PLANS[0].method, "yes", 3))
    assert composed["command"][0] == 'o: "rg"/#x'
