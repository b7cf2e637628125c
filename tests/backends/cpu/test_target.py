import pytest

from rushlight.backends.cpu.target import TARGETS, host_target


@pytest.mark.parametrize(
    ("isa", "target"),
    [
        ("generic", "generic"),
        ("avx2", "avx2"),
        ("avxvnni", "avx2"),
        ("neon_i8mm", "neon"),
        ("rvv256", "rvv256"),
    ],
)
def test_plans_are_for_the_instruction_set_that_tiles_are_asked_for(
    isa: str, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUSHLIGHT_ISA", isa)
    assert host_target() is TARGETS[target]


def test_plans_are_for_this_machine_if_no_such_set_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RUSHLIGHT_ISA", raising=False)
    own = host_target()
    monkeypatch.setenv("RUSHLIGHT_ISA", "altivec")
    assert host_target() is own
