import subprocess
import sys


def test_the_screen_opens_without_loading_what_only_the_engine_needs() -> None:
    program = (
        "import sys, specchat.tui.app; "
        "print(*({'llama_cpp', 'numpy', 'torch', 'jinja2', 'huggingface_hub'} & set(sys.modules)))"
    )
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert loaded.stdout.split() == []
