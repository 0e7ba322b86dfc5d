/** Columns by day, in layers. The table beside it says the same in words. */
import { useEffect, useRef, useState } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { count, money } from "../../ui";
import styles from "./Cost.module.css";
import { heaped, type Measure, type Stacked } from "./stack";

export const COLOURS = ["--accent", "--green", "--amber", "--violet", "--cyan", "--red", "--orange", "--gray"] as const;
const HEIGHT = 280;

type ChartProps = { of: Stacked; measure: Measure; label: string; onDay: (place: number | null) => void };

export function Chart({ of, measure, label, onDay }: ChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const theme = useThemeName();
  const told = useRef(onDay);
  told.current = onDay;

  // biome-ignore lint/correctness/useExhaustiveDependencies: the theme changes what the colours are
  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const look = getComputedStyle(element);
    const colour = (name: string) => look.getPropertyValue(name).trim();
    const heights = heaped(of.layers).reverse();
    const bars = uPlot.paths.bars?.({ size: [0.7, 48] });
    const axis = {
      stroke: colour("--muted"),
      grid: { stroke: colour("--line"), width: 1 },
      ticks: { stroke: colour("--line"), width: 1 },
      font: "11px system-ui, sans-serif",
    };
    const chart = new uPlot(
      {
        width: element.clientWidth,
        height: HEIGHT,
        tzDate: (at) => uPlot.tzDate(new Date(at * 1_000), "UTC"),
        legend: { show: false },
        cursor: { y: false, points: { show: false }, drag: { setScale: false, x: false, y: false } },
        scales: {
          x: { time: true, range: (_, least, most) => [least - 43_200, most + 43_200] },
          y: { range: (_, __, most) => [0, most > 0 ? most * 1.08 : 1] },
        },
        series: [
          {},
          ...heights.map((_, at) => {
            const fill = colour(COLOURS[(heights.length - 1 - at) % COLOURS.length] ?? "--gray");
            return { ...(bars ? { paths: bars } : {}), fill, stroke: fill, width: 0, points: { show: false } };
          }),
        ],
        axes: [
          { ...axis, grid: { show: false }, space: 64, incrs: DAYS, values: (_, shown) => shown.map(dayName) },
          { ...axis, size: 64, values: (_, shown) => shown.map((value) => (measure === "usd" ? money(value) : count(value))) },
        ],
        hooks: { setCursor: [(self) => told.current(self.cursor.idx ?? null)] },
      },
      [of.days.map((day) => day / 1_000), ...heights],
      element,
    );
    const watch = new ResizeObserver(() => chart.setSize({ width: element.clientWidth, height: HEIGHT }));
    watch.observe(element);
    return () => {
      watch.disconnect();
      chart.destroy();
    };
  }, [of, measure, theme]);

  return <div ref={place} className={styles.chart} role="img" aria-label={label} />;
}

const DAYS = [1, 2, 7, 14, 28, 56, 112].map((days) => days * 86_400);

function dayName(seconds: number): string {
  return new Date(seconds * 1_000).toLocaleDateString("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });
}

const themeName = (): string => document.documentElement.dataset.theme ?? "";

/** Which theme is on; a canvas does not hear of it by itself. */
function useThemeName(): string {
  const [theme, setTheme] = useState(themeName);
  useEffect(() => {
    const watch = new MutationObserver(() => setTheme(themeName()));
    watch.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    return () => watch.disconnect();
  }, []);
  return theme;
}
