// A small picture of how much there was in each minute; the numbers are in its name, for those who do not see it.
import { lazy, Suspense } from "react";
import { patiently } from "../api/patiently";

const Canvas = lazy(patiently(() => import("./SparklineCanvas")));

export type SparklineProps = { values: (number | null)[]; label: string; width?: number; height?: number };

export function Sparkline({ values, label, width = 120, height = 24 }: SparklineProps) {
  return (
    <span
      role="img"
      aria-label={label}
      title={label}
      style={{ display: "inline-block", width, height, verticalAlign: "middle" }}
    >
      <Suspense>
        <Canvas values={values} width={width} height={height} />
      </Suspense>
    </span>
  );
}
