"""The network in torch, for learning: two hidden layers, a policy head and a value head.

Axes: N samples, W words, K numbers, C columns, H width, A actions. Matrices are ``[in, out]``, as
in the checkpoint, so that weights travel as they are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from agents.neural import kernels
from agents.neural.weights import Weights, column_map, tensor_shapes
from king_env.engine import observe
from king_env.engine.actions import NUM_ACTIONS

CPU: Final = torch.device("cpu")

Words = npt.NDArray[np.uint64]
Numbers = npt.NDArray[np.int16]
Points = npt.NDArray[np.float32]


class _SparseProduct(torch.autograd.Function):
    """The product of ``FirstLayer`` on the CPU, and its gradient, in compiled code."""

    @staticmethod
    def forward(
        ctx: Any, weight: Tensor, bias: Tensor, words: Words, numbers: Numbers, column_of: Any
    ) -> Tensor:
        """Returns `[N, H]`, see ``kernels.first_layer``."""
        out = torch.empty((len(words), bias.shape[0]), dtype=torch.float32)
        kernels.first_layer(
            words,
            numbers,
            column_of,
            weight.detach().numpy(),
            bias.detach().numpy(),
            *kernels.input_room(),
            out.numpy(),
        )
        ctx.packed = (words, numbers, column_of, weight.shape)
        return out

    @staticmethod
    def backward(ctx: Any, grad_out: Tensor) -> Any:
        """Returns the gradients of weight and bias, and None for the inputs."""
        words, numbers, column_of, shape = ctx.packed
        grad_weight = torch.zeros(shape, dtype=torch.float32)
        kernels.first_layer_gradient(
            words, numbers, column_of, grad_out.contiguous().numpy(), grad_weight.numpy()
        )
        return grad_weight, grad_out.sum(0), None, None, None


class FirstLayer(nn.Module):
    """The first layer over packed observations, of which few inputs are on.

    On the CPU compiled code adds up the rows of the weight that are on. Another device gets the
    packed observations, unpacks the columns in use and multiplies. Weight and bias belong to the
    network, whose parameters have the names of a checkpoint.

    Args:
        columns: `[C]` int64, the features in use, rising.
    """

    def __init__(self, columns: npt.NDArray[np.int64]) -> None:
        super().__init__()
        self.column_of = column_map(columns)
        bits = columns[columns < observe.NUM_BITS]
        numbers = columns[len(bits) :] - observe.NUM_BITS
        for name, places in (("word", bits >> 6), ("shift", bits & 63), ("number", numbers)):
            self.register_buffer(name, torch.from_numpy(places), persistent=False)
        scales = torch.from_numpy(observe.NUMBER_SCALES[numbers])
        self.register_buffer("scale", scales, persistent=False)
        self.word: Tensor
        self.shift: Tensor
        self.number: Tensor
        self.scale: Tensor

    def forward(self, weight: Tensor, bias: Tensor, words: Words, numbers: Numbers) -> Tensor:
        """Returns `[N, H]` float32.

        Args:
            weight: `[C, H]`.
            bias: `[H]`.
            words: `[N, W]` uint64 bits, suits in canonical order.
            numbers: `[N, K]` int16.
        """
        if weight.device == CPU:
            return _SparseProduct.apply(  # type: ignore[no-any-return, no-untyped-call]
                weight, bias, words, numbers, self.column_of
            )
        return torch.addmm(bias, self.inputs(words, numbers), weight)

    def inputs(self, words: Words, numbers: Numbers) -> Tensor:
        """Returns `[N, C]` float32 of packed observations, see ``forward``."""
        words_NW = tensor_of(words.view(np.int64), self.word.device)
        bits_NC = (words_NW.index_select(1, self.word) >> self.shift) & 1
        numbers_NK = tensor_of(numbers, self.word.device)
        numbers_NC = numbers_NK.index_select(1, self.number) / self.scale
        bound = observe.NUMBER_BOUND
        return torch.cat([bits_NC.float(), numbers_NC.clamp(-bound, bound)], dim=1)


class ActorCritic(nn.Module):
    """Policy and value of a position.

    Args:
        columns: `[C]` int64, the features in use.
        width: H.
        seed: of the initial weights.
        rule_prior: what a unit of the rule-based agent's opinion adds to a logit.
    """

    def __init__(
        self,
        columns: npt.NDArray[np.int64],
        width: int,
        seed: int = 0,
        rule_prior: float = 0.0,
    ) -> None:
        super().__init__()
        self.columns = columns
        self.rule_prior = rule_prior
        self.first_layer = FirstLayer(columns)
        generator = torch.Generator().manual_seed(seed % 2**63)
        # About a tenth of the inputs of the first layer is on, so its scale follows that.
        scales = {
            "first.weight": math.sqrt(2.0 / max(1.0, 0.1 * len(columns))),
            "second.weight": math.sqrt(2.0 / width),
            "policy.weight": 0.01 / math.sqrt(width),
            "value.weight": 0.1 / math.sqrt(width),
        }
        for name, shape in tensor_shapes(len(columns), width).items():
            scale = scales.get(name, 0.0)
            start = torch.randn(shape, generator=generator) * scale
            self.register_parameter(name.replace(".", "_"), nn.Parameter(start))
        self.first_weight: nn.Parameter
        self.first_bias: nn.Parameter
        self.second_weight: nn.Parameter
        self.second_bias: nn.Parameter
        self.policy_weight: nn.Parameter
        self.policy_bias: nn.Parameter
        self.value_weight: nn.Parameter
        self.value_bias: nn.Parameter

    def forward(self, words: Words, numbers: Numbers, points: Points) -> tuple[Tensor, Tensor]:
        """Returns the logits and values of packed observations.

        Args:
            words: `[N, W]` uint64 bits, suits in canonical order.
            numbers: `[N, K]` int16.
            points: `[N, A]` float32, the rule-based agent's opinion, see ``opinions``; not looked
                at without ``rule_prior``.

        Returns:
            logits_NA, illegal actions included, and values_N in point scales.
        """
        first_NH = self.first_layer(self.first_weight, self.first_bias, words, numbers)
        hidden_NH = torch.relu(first_NH)
        hidden_NH = torch.relu(torch.addmm(self.second_bias, hidden_NH, self.second_weight))
        logits_NA = torch.addmm(self.policy_bias, hidden_NH, self.policy_weight)
        if self.rule_prior:
            # Residual policy learning (Silver et al. 2018): the network corrects a given policy.
            logits_NA = logits_NA + self.rule_prior * tensor_of(points, self.device)
        values_N = torch.addmm(self.value_bias, hidden_NH, self.value_weight)[:, 0]
        return logits_NA, values_N

    @property
    def device(self) -> torch.device:
        """Where the weights lie, and what ``forward`` returns."""
        return self.first_weight.device

    def tensors(self) -> dict[str, npt.NDArray[np.float32]]:
        """Returns a copy of the weights by their names in a checkpoint."""
        return {
            name.replace("_", ".", 1): np.ascontiguousarray(value.detach().cpu().numpy()).copy()
            for name, value in self.named_parameters()
        }

    def load_tensors(self, tensors: Mapping[str, npt.NDArray[np.float32]]) -> None:
        """Takes over what ``tensors`` of a network of the same shape has returned."""
        with torch.no_grad():
            for name, parameter in self.named_parameters():
                parameter.copy_(torch.from_numpy(tensors[name.replace("_", ".", 1)].copy()))

    def load(self, weights: Weights) -> None:
        """Takes over the weights of a checkpoint; features it did not use start at 0.

        Raises:
            ValueError: if the widths differ, or it uses features that this network does not.
        """
        self.rule_prior = weights.rule_prior
        own = self.first_bias.shape[0]
        if weights.width != own:
            raise ValueError(f"width: found {weights.width}; allowed: {own}")
        places = self.first_layer.column_of[weights.columns]
        if (places < 0).any():
            raise ValueError("columns: the checkpoint uses features that this network does not")
        with torch.no_grad():
            for name, parameter in self.named_parameters():
                tensor = tensor_of(weights.tensors[name.replace("_", ".", 1)], self.device)
                if name == "first_weight":
                    parameter.zero_()
                    parameter[tensor_of(places.astype(np.int64), self.device)] = tensor
                else:
                    parameter.copy_(tensor)


def tensor_of(array: npt.NDArray[Any], device: torch.device) -> Tensor:
    """Returns a tensor on a device; on the CPU it shares the memory of the array."""
    return torch.from_numpy(array).to(device)


def masked_log_softmax(logits_NA: Tensor, legal_NA: Tensor) -> Tensor:
    """Returns log-probabilities `[N, A]` over legal actions; illegal ones get about -1e9."""
    return torch.log_softmax(logits_NA.masked_fill(~legal_NA, kernels.ILLEGAL_LOGIT), dim=-1)


def legal_array(mask: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
    """Returns `[N, A]` of packed legal actions `[N, 3]`."""
    out = np.empty((len(mask), NUM_ACTIONS), dtype=np.bool_)
    kernels.expand_mask(mask, out)
    return out


def legal_tensor(mask: npt.NDArray[np.uint64], device: torch.device = CPU) -> Tensor:
    """Returns `[N, A]` bool of packed legal actions `[N, 3]`."""
    return tensor_of(legal_array(mask), device)
