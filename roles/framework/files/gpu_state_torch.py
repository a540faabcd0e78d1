"""Print as JSON what PyTorch says of the GPUs: the CUDA it is built for, and one kernel on each."""

import json

import torch


def error_of(function):
    """Return the last line of the error of a call; empty where it returns."""
    try:
        function()
    except Exception as error:  # whatever the framework raises is what is asked for
        return (str(error).strip().splitlines() or [type(error).__name__])[-1]
    return ""


state = {
    "version": torch.__version__,
    "built_for": torch.version.cuda,
    "architectures": torch.cuda.get_arch_list(),
    "error": error_of(torch.cuda.init),
    "devices": [],
}
for index in range(0 if state["error"] else torch.cuda.device_count()):
    device = {
        "name": torch.cuda.get_device_name(index),
        "capability": ".".join(str(part) for part in torch.cuda.get_device_capability(index)),
        "error": error_of(lambda place=f"cuda:{index}": torch.ones(1, device=place).add(1).item()),
    }
    state["devices"].append(device)
print(json.dumps(state))
