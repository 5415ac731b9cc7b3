"""What is predicted before anything runs."""

from __future__ import annotations

from kernels import Kernel, Opt, OptOps, Program, build
from runners.api import DeviceKind
from search.prediction import HOPELESS_WORK, predicted_plain_s, predicted_work
from tests.search.fake_device import device_info

CPU = device_info()
GPU = device_info(DeviceKind.GPU, float_width=1, compute_units=132)


def program(ast, *opts: Opt, device=CPU) -> Program:
    kernel = Kernel(ast, device.target)
    for opt in opts:
        kernel.apply_opt(opt)
    return kernel.to_program()


def test_predicted_work_grows_with_padding():
    ast = build.matmul(65, 64, 64)
    plain, padded = program(ast), program(ast, Opt(OptOps.PADTO, 0, 128))
    assert 1.9 < predicted_work(padded, CPU) / predicted_work(plain, CPU) < 2.0


def test_predicted_work_counts_idle_parts_of_a_gpu():
    ast = build.elementwise((1 << 16,), lambda x: x * 2)
    whole = predicted_work(program(ast, Opt(OptOps.LOCAL, 0, 64), device=GPU), GPU)
    assert predicted_work(program(ast, device=GPU), GPU) == 32 * whole
    alone = predicted_work(program(build.reduce_all("sum", (1 << 16,)), device=GPU), GPU)
    grouped = predicted_work(program(build.reduce_all("sum", (1 << 16,)), Opt(OptOps.GROUP, 0, 256), device=GPU), GPU)
    assert alone == 32 * grouped and alone / whole > HOPELESS_WORK


def test_predicted_work_of_opts_that_only_reshape_is_the_same_on_a_cpu():
    ast = build.matmul(64, 64, 64)
    assert predicted_work(program(ast, Opt(OptOps.UPCAST, 0, 4)), CPU) == predicted_work(program(ast), CPU)


def test_predicted_plain_time_is_seconds_for_a_large_product_and_little_for_a_small_one():
    assert predicted_plain_s(program(build.matmul(4096, 4096, 4096)), CPU) > 10
    assert predicted_plain_s(program(build.matmul(128, 128, 128)), CPU) < 0.1
