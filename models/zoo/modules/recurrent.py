"""Modules with recurrent layers."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.export import Dim

from models.zoo.cases import Lambda, Model, model, zoo

GROUP = "modules"


@zoo(GROUP)
def lstm_bidirectional() -> Model:
    return model(Lambda(lambda m, x: m(x)[0], nn.LSTM(6, 8, 2, bidirectional=True)), torch.randn(5, 2, 6))


@zoo(GROUP)
def lstm_with_state() -> Model:
    state = torch.randn(1, 2, 8), torch.randn(1, 2, 8)
    return model(Lambda(lambda m, x, h, c: m(x, (h, c)), nn.LSTM(6, 8)), torch.randn(5, 2, 6), *state)


@zoo(GROUP)
def lstm_projected() -> Model:
    return model(Lambda(lambda m, x: m(x), nn.LSTM(6, 8, proj_size=4)), torch.randn(5, 2, 6))


@zoo(GROUP)
def lstm_unbatched() -> Model:
    return model(Lambda(lambda m, x: m(x)[0], nn.LSTM(6, 8)), torch.randn(5, 6))


@zoo(GROUP)
def lstm_dynamic_batch() -> Model:
    shapes = ({0: Dim("b", min=1, max=8)},)
    m = Lambda(lambda m, x: m(x)[0], nn.LSTM(6, 8, batch_first=True))
    dynamic: Any = {"args": shapes}
    return model(
        m, torch.randn(3, 5, 6), dynamic=dynamic, others=[torch.randn(8, 5, 6), torch.randn(1, 5, 6)]
    )


@zoo(GROUP)
def gru_bidirectional() -> Model:
    return model(Lambda(lambda m, x: m(x), nn.GRU(6, 8, 2, bidirectional=True)), torch.randn(5, 2, 6))


@zoo(GROUP)
def rnn_tanh() -> Model:
    return model(Lambda(lambda m, x: m(x), nn.RNN(6, 8, 2)), torch.randn(5, 2, 6))


@zoo(GROUP)
def lstm_cell_loop() -> Model:
    class M(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell, self.gru = nn.LSTMCell(4, 6), nn.GRUCell(6, 6)

        def forward(self, x: torch.Tensor) -> Any:
            h, c = torch.zeros(2, 6), torch.zeros(2, 6)
            g = torch.zeros(2, 6)
            for i in range(3):
                h, c = self.cell(x[i], (h, c))
                g = self.gru(h, g)
            return h, c, g

    return model(M(), torch.randn(3, 2, 4))
