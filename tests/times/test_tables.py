"""Real times from CSV and text reports: every tool's variants, and what a damaged file is told."""

import contextlib
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traces.times import TimesError, TimesReport, read_times

NSYS_2022 = (
    "Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem (MB),DymSMem (MB),Bytes (MB),"
    "Throughput (MBps),SrcMemKd,DstMemKd,Device,Ctx,Strm,Name"
)
NSYS_2024 = NSYS_2022.replace("MBps", "MB/s").replace("Ctx,Strm", "Ctx,GreenCtx,Strm")


def report(text: str | bytes) -> TimesReport:
    return read_times(io.BytesIO(text.encode() if isinstance(text, str) else text), "times.csv")


def refusal(text: str | bytes) -> str:
    with pytest.raises(TimesError) as caught:
        report(text)
    return str(caught.value)


def nsys_2022(*rows: str) -> str:
    return "\n".join((NSYS_2022, *rows)) + "\n"


GEMM_ROW = '500,1200,7,128,1,1,256,1,1,40,0.0,0.1,,,,,NVIDIA A100 (0),1,20,"void gemm<float, 4>(T1 *, int)"'


class TestNsightSystems:
    def test_a_kernel_row_gives_name_geometry_stream_and_times(self) -> None:
        (launch,) = report(nsys_2022(GEMM_ROW)).launches
        assert launch.name == "void gemm<float, 4>(T1 *, int)"
        assert (launch.grid, launch.block, launch.stream) == ((128, 1, 1), (256, 1, 1), 20)
        assert (launch.start_ns, launch.duration_ns, launch.correlation_id) == (500, 1200, 7)

    def test_copies_and_memsets_are_no_kernels(self) -> None:
        copy = "100,22400,929,,,,,,,,,,1.0,44642.0,Pageable,Device,NVIDIA A100 (0),1,7,[CUDA memcpy Host-to-Device]"
        assert len(report(nsys_2022(copy, GEMM_ROW)).launches) == 1

    def test_the_green_context_column_of_newer_versions_is_no_stream(self) -> None:
        row = "500,1200,7,8,1,1,32,1,1,40,0,0,,,,,NVIDIA A100 (0),1,,20,k"
        assert report(f"{NSYS_2024}\n{row}\n").launches[0].stream == 20

    def test_the_unit_in_the_header_is_obeyed(self) -> None:
        text = nsys_2022(GEMM_ROW).replace("Start (ns)", "Start (us)").replace("Duration (ns)", "Duration (ms)")
        (launch,) = report(text).launches
        assert (launch.start_ns, launch.duration_ns) == (500_000, 1_200_000_000)

    def test_an_nvtx_range_before_the_name_is_taken_off(self) -> None:
        row = "500,1200,7,8,1,1,32,1,1,40,0,0,,,,,GPU (0),1,20,layer 3 (attn)/void ns::k<int>(T1)"
        (launch,) = report(nsys_2022(row)).launches
        assert (launch.nvtx, launch.name) == ("layer 3 (attn)", "void ns::k<int>(T1)")

    def test_text_before_the_header_is_skipped(self) -> None:
        before = (
            "NOTICE: Existing SQLite export found: x.sqlite\n\nProcessing [x.sqlite] with [cuda_gpu_trace.py]... \n"
        )
        assert len(report(before + nsys_2022(GEMM_ROW)).launches) == 1

    def test_a_report_that_follows_in_the_same_file_is_not_read(self) -> None:
        after = "\nProcessing [x.sqlite] with [cuda_api_sum.py]... \nTime (%),Name\n100,cudaLaunchKernel\n"
        assert len(report(nsys_2022(GEMM_ROW) + after).launches) == 1

    def test_the_gpu_is_named_without_its_index(self) -> None:
        assert report(nsys_2022(GEMM_ROW)).device_names == ("NVIDIA A100",)

    @pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
    def test_any_encoding_a_shell_redirects_with_is_read(self, encoding: str) -> None:
        assert len(report(nsys_2022(GEMM_ROW).encode(encoding)).launches) == 1

    def test_windows_line_ends_are_read(self) -> None:
        assert report(nsys_2022(GEMM_ROW).replace("\n", "\r\n")).launches[0].name.endswith("int)")

    def test_a_summary_gives_each_launch_the_average_and_says_so(self) -> None:
        header = (
            "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),GridXYZ,BlockXYZ,Name"
        )
        found = report(f"{header}\n100.0,300,2,150.0,150.0,140,160,1.0, 128    1    1,  64    1    1,k\n")
        assert [launch.duration_ns for launch in found.launches] == [150, 150]
        assert (found.launches[0].grid, found.launches[0].block) == ((128, 1, 1), (64, 1, 1))
        assert "summary" in found.warnings[0]

    def test_json_has_the_same_columns(self) -> None:
        text = (
            '[{"Start (ns)": 5, "Duration (ns)": 7, "GrdX": 2, "GrdY": 1, "GrdZ": 1, "BlkX": 32, "BlkY": 1, "BlkZ": 1,'
        )
        text += '"Device": "A (0)", "Strm": 7, "Name": "k"}, {"Start (ns)": 9, "Duration (ns)": 1, "GrdX": null,'
        text += '"Name": "[CUDA memset]"}]'
        found = report(text)
        assert found.source == "nsys-json"
        assert [(x.name, x.grid, x.duration_ns) for x in found.launches] == [("k", (2, 1, 1), 7)]

    def test_json_behind_the_tools_own_messages_is_read(self) -> None:
        found = report('Processing [x.sqlite] with [cuda_gpu_trace.py]...\n[{"Duration (ns)": 7, "Name": "k"}]\n')
        assert found.launches[0].duration_ns == 7


NCU = (
    '"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size",'
    '"Device","CC"'
)


def ncu_raw(unit: str, *values: str, metric: str = "gpu__time_duration.sum", locale_cells: str = "") -> str:
    lines = [f'{NCU},"{metric}","x"', f'"","","","","","","","","","","","{unit}","{unit}"']
    lines += [
        f'"{n}","1","app","host","k{n}","1","7","(256, 1, 1)","(8, 2, 1)","0","8.0","{value}","{locale_cells or value}"'
        for n, value in enumerate(values)
    ]
    return "\n".join(lines) + "\n"


def ncu_details(*rows: tuple[str, str, str, str], rest: str = "") -> str:
    head = f'{NCU},"Section Name","Metric Name","Metric Unit","Metric Value"' + (',"Rule Name"' if rest else "")
    lines = [
        f'"{n}","1","app","host","k{n}","1","7","(256, 1, 1)","(8, 2, 1)","0","8.0","S","{metric}","{unit}","{value}"'
        for n, metric, unit, value in rows
    ]
    return "\n".join([head, *(line + rest for line in lines)]) + "\n"


class TestNsightCompute:
    @pytest.mark.parametrize(
        ("unit", "value", "ns"),
        [("us", "22.592", 22592), ("usecond", "22.592", 22592), ("nsecond", "2,720.00", 2720), ("second", "0.5", 5e8)],
    )
    def test_the_raw_page_is_read_in_its_unit(self, unit: str, value: str, ns: float) -> None:
        (launch,) = report(ncu_raw(unit, value)).launches
        assert (launch.duration_ns, launch.grid, launch.block) == (ns, (8, 2, 1), (256, 1, 1))

    def test_the_metrics_old_name_is_known(self) -> None:
        assert report(ncu_raw("nsecond", "5", metric="gpu__time_duration")).launches[0].duration_ns == 5

    def test_the_details_page_has_one_launch_per_id(self) -> None:
        found = report(
            ncu_details(
                ("0", "Duration", "us", "2.5"), ("0", "SM Frequency", "Ghz", "1.1"), ("1", "Duration", "ns", "7")
            )
        )
        assert [(x.name, x.duration_ns) for x in found.launches] == [("k0", 2500), ("k1", 7)]

    def test_rows_of_rules_have_no_metric_and_are_skipped(self) -> None:
        text = ncu_details(("0", "Duration", "us", "2.5"), ("0", "", "", ""), rest=',"SOLBottleneck"')
        assert len(report(text).launches) == 1

    def test_messages_of_the_tool_and_the_program_around_the_table_are_skipped(self) -> None:
        text = "Result = PASS\n==PROF== Connected to process 5\n" + ncu_raw("us", "1.5") + "==PROF== Disconnected\n"
        assert report(text).launches[0].duration_ns == 1500

    def test_the_base_clock_is_said(self) -> None:
        found = report(ncu_details(("0", "Duration", "us", "2.5"), ("0", "SM Frequency", "cycle/nsecond", "1.10")))
        assert found.clock_note is not None
        assert "base clock" in found.clock_note
        assert "1100 MHz" in found.clock_note

    def test_decimal_commas_are_recognised_from_the_whole_file(self) -> None:
        found = report(ncu_details(("0", "Elapsed Cycles", "cycle", "185.123"), ("0", "Duration", "usecond", "117,44")))
        assert found.launches[0].duration_ns == 117440
        assert "comma" in found.warnings[0]

    def test_two_decimal_signs_in_one_file_are_refused(self) -> None:
        text = ncu_details(("0", "Duration", "us", "117,44"), ("1", "Duration", "us", "117.44"))
        assert "decimal sign is unknown" in refusal(text)

    def test_a_profile_without_the_duration_says_which_metric_to_collect(self) -> None:
        assert "gpu__time_duration.sum" in refusal(ncu_details(("0", "Registers", "", "32")))

    def test_the_session_page_is_named(self) -> None:
        assert "session page" in refusal('Launch Settings\n"Launch Attribute","Value"\n"x","y"\n')


NVPROF = (
    '"Start","Duration","Grid X","Grid Y","Grid Z","Block X","Block Y","Block Z","Registers Per Thread","Static SMem",'
    '"Dynamic SMem","Size","Throughput","Device","Context","Stream","Unified Memory","Virtual Address","Name",'
    '"Correlation_ID"'
)


def nvprof(units: str, *rows: str) -> str:
    return "\n".join(
        ("==12== NVPROF is profiling process 12, command: ./a", "==12== Profiling result:", NVPROF, units, *rows)
    )


class TestNvprof:
    units = "s,ms,,,,,,,,B,B,MB,GB/s,,,,,,,"
    kernel = '1.5,0.287308,506,1,1,192,1,1,16,0,0,,,"TITAN Xp (0)","1","7",,,"init(int, float*)",121'

    def test_start_and_duration_have_units_of_their_own(self) -> None:
        (launch,) = report(nvprof(self.units, self.kernel)).launches
        assert (launch.start_ns, launch.duration_ns, launch.correlation_id) == (1.5e9, 287308, 121)

    def test_page_faults_and_copies_are_no_kernels(self) -> None:
        fault = '1.2,,,,,,,,,,,,,,,,"PC 0x5e240510","0x7f54d8000000","[Unified Memory CPU page faults]",'
        copy = '1.2,0.1,,,,,,,,,,1,1,"TITAN Xp (0)","1","7",,,"[CUDA memcpy HtoD]",5'
        assert len(report(nvprof(self.units, fault, copy, self.kernel)).launches) == 1

    def test_a_launch_number_behind_the_name_is_taken_off(self) -> None:
        (launch,) = report(nvprof(self.units, self.kernel.replace('float*)",121', 'float*) [117]",'))).launches
        assert (launch.name, launch.correlation_id) == ("init(int, float*)", 117)

    def test_lost_records_are_warned_of(self) -> None:
        text = "==12== Warning: 3 records have invalid timestamps due to insufficient space\n"
        assert "lost 3 records" in report(text + nvprof(self.units, self.kernel)).warnings[0]

    def test_the_table_form_is_read(self) -> None:
        head = "   Start  Duration  Grid Size  Block Size  Regs*  SSMem*  DSMem*  Size  Throughput  Device  Context"
        head += "  Stream  Name"
        copy = "133.81ms  781.66us  -  -  -  -  -  398.94KB  498.40MB/s  K40m (0)  1  7  [CUDA memcpy HtoD]"
        kernel = "326.63ms  1.6782ms  (32768 1 1)  (256 1 1)  21  0B  0B  -  -  K40m (0)  1  7  axpy(float*, int) [128]"
        (launch,) = report(
            "\n".join(["==7== Profiling result:", head, copy, kernel, "", "Regs: registers", ""])
        ).launches
        assert (launch.name, launch.grid, launch.duration_ns) == ("axpy(float*, int)", (32768, 1, 1), 1678200)

    def test_no_kernels_were_profiled_is_passed_on(self) -> None:
        assert "no kernels were profiled" in refusal("==5== NVPROF is profiling\nNo kernels were profiled.\n")

    def test_counts_of_events_are_no_times(self) -> None:
        assert "counts events" in refusal('"Device","Context","Stream","Kernel","Correlation_ID","elapsed_cycles_sm"\n')


class TestRefusals:
    def test_another_kind_of_file_is_told_what_is_wanted(self) -> None:
        assert "no header of a table of kernel times" in refusal("hello\nworld\n")

    def test_an_empty_file_is_called_empty(self) -> None:
        assert "is empty" in refusal("")

    def test_an_export_without_kernels_is_named(self) -> None:
        assert "has no kernel" in refusal(nsys_2022())

    def test_two_devices_are_listed(self) -> None:
        other = GEMM_ROW.replace("A100 (0)", "A100 (1)")
        assert "2 devices (NVIDIA A100 (0), NVIDIA A100 (1))" in refusal(nsys_2022(GEMM_ROW, other))

    @pytest.mark.parametrize("duration", ["0", "-5", "1e30"])
    def test_a_duration_that_can_be_none_is_refused_with_its_line(self, duration: str) -> None:
        assert "times.csv, line 2" in refusal(nsys_2022(GEMM_ROW.replace("1200", duration)))

    def test_a_cell_that_is_no_number_is_shown_with_its_line(self) -> None:
        assert (
            refusal(nsys_2022(GEMM_ROW, GEMM_ROW.replace("1200", "12x"))) == "times.csv, line 3: '12x' is not a number."
        )

    @pytest.mark.parametrize("start", ["1e999", "9" * 5000])
    def test_a_number_beyond_all_bounds_is_none(self, start: str) -> None:
        assert "line 2" in refusal(nsys_2022(GEMM_ROW.replace("500,", f"{start},", 1)))

    def test_a_correlation_id_of_any_length_does_no_harm(self) -> None:
        (launch,) = report(nsys_2022(GEMM_ROW.replace(",7,", f",{'7' * 5000},", 1))).launches
        assert launch.correlation_id is None

    def test_a_cut_row_is_refused_with_its_line(self) -> None:
        assert "line 2: has 4 columns where the header has 20" in refusal(nsys_2022(GEMM_ROW)[: len(NSYS_2022) + 15])

    def test_an_unknown_unit_is_named(self) -> None:
        assert "the unit 'fortnights'" in refusal(nsys_2022(GEMM_ROW).replace("Duration (ns)", "Duration (fortnights)"))

    def test_a_binary_file_is_no_report(self) -> None:
        assert "zero bytes" in refusal(b"\x7fELF" + bytes(100))

    @pytest.mark.parametrize("cell", ["128", "GPU (0)", "k", "Duration (ns)", "1200"])
    def test_blanks_without_end_cost_nothing(self, cell: str) -> None:
        text = nsys_2022(GEMM_ROW.replace("NVIDIA A100", "GPU").replace("void gemm<float, 4>(T1 *, int)", "k"))
        with contextlib.suppress(TimesError):
            assert report(text.replace(cell, cell[0] + " " * 150_000 + cell[1:] + "x", 1)).launches

    @given(st.binary(max_size=300))
    def test_random_bytes_are_refused_in_one_sentence(self, data: bytes) -> None:
        assert refusal(data).count("\n") == 0

    @given(st.integers(0, 2000), st.sampled_from('",;\t\n0-x\0'))
    def test_a_damaged_report_is_read_or_refused(self, place: int, character: str) -> None:
        text = nsys_2022(GEMM_ROW, GEMM_ROW)
        place %= len(text)
        damaged = text[:place] + character + text[place + 1 :]
        with contextlib.suppress(TimesError):
            assert report(damaged).launches
