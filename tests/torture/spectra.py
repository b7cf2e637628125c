"""Chains of complex operators between real values: transforms, products, parts, absolute values, angles."""

from __future__ import annotations

from tests.torture.case import Function, Statement
from tests.torture.scope import Maker, Scope, Value, rows

FIRST = rows(
    """
    torch.fft.rfft({}); torch.fft.rfft({}, norm="ortho"); torch.fft.fft({}); torch.fft.rfft({}, dim=0);
    torch.complex({}, {}.flip(-1)); torch.view_as_complex(torch.stack([{}, {} * 2], -1));
    torch.polar({}.abs(), {}); {}.to(torch.complex64); torch.fft.rfftn({}); torch.fft.ifft({});
    torch.view_as_complex(torch.stack([{}, {}.cos()], -1).contiguous()); torch.fft.ihfft({})
    """
)
MIDDLE = rows(
    """
    {} * 2; {} * {}; {}.conj(); {} + {}.conj(); {} / ({}.abs() + 1); -{}; 1j * {}; {} - 1; {}[..., :1] * {};
    {}.flip(-1); torch.cat([{}, {}], -1); {}.transpose(0, -1); {}.unsqueeze(0); {}.sum(-1, keepdim=True) * {};
    {}.clone(); {}.reshape(-1); torch.polar({}.abs(), {}.angle()); torch.complex({}.imag, {}.real);
    torch.fft.fft({}); torch.fft.ifft({}); {}.clone().mul_(0.5); {}.roll(1, -1); {}[..., 1:]; {}.conj() * {};
    torch.stack([{}, {}.conj()])[1]; {}.expand(2, *{}.shape)[0]; {}.contiguous(); {}.resolve_conj();
    torch.where({}.real > 0, {}, {} * 0.5); {} * torch.exp({} * 0.1); {}.mean(-1, True) + {}; {}.square();
    torch.view_as_complex(torch.view_as_real({}) * 2); {}.index_select(-1, torch.tensor([0]));
    {}.masked_fill({}.imag > 0, 0); F.pad({}, (1, 1)); {} / 3; {} * (0.5 + 1j); torch.fft.fftshift({})
    """
)
LAST = rows(
    """
    {}.abs(); {}.angle(); torch.view_as_real({}); {}.real; {}.imag; torch.fft.irfft({}); {}.abs().square();
    ({} * {}.conj()).real; {}.real + {}.imag; torch.view_as_real({}).sum(-1); torch.fft.hfft({});
    torch.fft.irfft({}, norm="ortho"); {}.abs().log1p(); torch.view_as_real({}).flatten();
    torch.view_as_real({}.conj().resolve_conj()); {}.real.clone().mul_(2); {}.angle().cos(); {}.imag.relu()
    """
)


def spectrum(scope: Scope) -> Value:
    """A local function of a real value with complex values inside."""
    value = scope.floating(1)
    rng = scope.rng
    templates = [rng.choice(FIRST), *(rng.choice(MIDDLE) for _ in range(rng.randint(0, 3))), rng.choice(LAST)]
    made, name = [], "a"
    for template in templates:
        new = scope.fresh("z")
        made.append(Statement(template, (name,) * template.count("{}"), (new,)))
        name = new
    function = Function(scope.fresh("f"), ("a",), tuple(made), (name,))
    return scope.add(f"{function.name}({{}})", value, functions=(function,))


OPERATORS: tuple[tuple[Maker, float], ...] = ((spectrum, 1.0),)
