"""The layers of ResNet-50 v1.5 that all trainers build from."""

from __future__ import annotations

from resnet50.layers import CLASSES, FEATURES, STEM_FILTERS, blocks


def parameters() -> int:
    """Count weights: convolutions without bias, two for each normalised channel, the classifier."""

    def convolution(channels: int, filters: int, side: int) -> int:
        return channels * filters * side**2 + 2 * filters

    count = convolution(3, STEM_FILTERS, 7)
    for block in blocks():
        count += convolution(block.channels, block.width, 1)
        count += convolution(block.width, block.width, 3)
        count += convolution(block.width, block.filters, 1)
        if block.projects:
            count += convolution(block.channels, block.filters, 1)
    return count + FEATURES * CLASSES + CLASSES


def test_the_parameters_are_those_of_resnet50():
    assert parameters() == 25_557_032


def test_every_stage_projects_once_and_all_but_the_first_stride():
    bottlenecks = blocks()
    assert [index for index, block in enumerate(bottlenecks) if block.projects] == [0, 3, 7, 13]
    assert [index for index, block in enumerate(bottlenecks) if block.stride == 2] == [3, 7, 13]
