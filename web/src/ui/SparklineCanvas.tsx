import { useEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { useShownTheme } from "../shell/theme";

/** The bars of a sparkline, drawn by uPlot. Only numbers come in here. */
export default function SparklineCanvas({
  values,
  width,
  height,
}: {
  values: (number | null)[];
  width: number;
  height: number;
}) {
  const place = useRef<HTMLSpanElement>(null);
  const plot = useRef<uPlot | null>(null);
  const theme = useShownTheme();
  const latest = useRef(values);
  latest.current = values;

  // biome-ignore lint/correctness/useExhaustiveDependencies: the colours are read anew when the theme is another one
  useEffect(() => {
    const on = place.current;
    if (!on) return;
    const colour = getComputedStyle(on).getPropertyValue("--accent").trim() || "#3450d4";
    plot.current = new uPlot(
      {
        width,
        height,
        padding: [1, 0, 0, 0],
        legend: { show: false },
        cursor: { show: false },
        axes: [{ show: false }, { show: false }],
        scales: { x: { time: false }, y: { range: (_, __, most) => [0, Math.max(1, most)] } },
        series: [{}, { fill: colour, width: 0, points: { show: false }, ...bars() }],
      },
      data(latest.current),
      on,
    );
    return () => {
      plot.current?.destroy();
      plot.current = null;
    };
  }, [width, height, theme]);
  useEffect(() => plot.current?.setData(data(values)), [values]);
  return <span ref={place} aria-hidden />;
}

function data(values: (number | null)[]): uPlot.AlignedData {
  return [values.map((_, index) => index), values];
}

function bars(): { paths?: uPlot.Series.PathBuilder } {
  const made = uPlot.paths.bars?.({ size: [0.8, 6] });
  return made ? { paths: made } : {};
}
