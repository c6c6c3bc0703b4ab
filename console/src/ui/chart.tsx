import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { isDark } from '../state/theme.ts';

export interface Series {
  label: string;
  /** A custom property of the style sheet. */
  color: string;
  values: (number | null)[];
  isFilled?: boolean;
}

interface ChartProps {
  title: string;
  /** In seconds. */
  times: number[];
  series: Series[];
  format?: (value: number) => string;
  /** Beside the chart, where there is room for little. */
  formatTick?: (value: number) => string;
  height?: number;
  /** Of the scale. */
  least?: number;
}

const readColor = (name: string): string => {
  const probe = document.createElement('i');
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
};

/** Lines over time, drawn once and then only given new numbers. */
export const Chart = ({ title, times, series, format = String, formatTick = format, ...size }: ChartProps) => {
  const { height = 180, least = 4 } = size;
  const element = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const dark = isDark.value;
  const shape = series.map(({ label }) => label).join();
  useEffect(() => {
    const box = element.current;
    if (!box) return;
    const [muted, line] = [readColor('--muted'), readColor('--line')];
    const axis = { stroke: muted, grid: { stroke: line, width: 1 }, ticks: { show: false }, font: '12px system-ui' };
    const drawn = new uPlot(
      {
        width: box.clientWidth || 300,
        height,
        padding: [8, 20, 0, 0],
        cursor: { drag: { x: false, y: false }, points: { size: 6 } },
        legend: { live: true },
        scales: { y: { range: (_plot, _min, max) => [0, Math.max(least, (max ?? 0) * 1.1)] } },
        axes: [
          { ...axis, space: 60, values: '{HH}:{mm}' },
          { ...axis, size: 56, values: (_plot, splits) => splits.map(formatTick) },
        ],
        series: [
          { value: '{HH}:{mm}' },
          ...series.map(({ label, color, isFilled }) => {
            const stroke = readColor(color);
            const fill = isFilled ? { fill: stroke.replace(/^rgb\((.*)\)$/, 'rgba($1, 0.12)') } : {};
            const points = { show: true, size: 4, width: 0, fill: stroke };
            const value = (_plot: uPlot, found: number | null) => (found === null ? '–' : format(found));
            return { label, stroke, width: 1.5, points, value, ...fill };
          }),
        ],
      },
      [times, ...series.map(({ values }) => values)] as uPlot.AlignedData,
      box,
    );
    plot.current = drawn;
    const observer = new ResizeObserver(() => drawn.setSize({ width: box.clientWidth, height }));
    observer.observe(box);
    return () => {
      observer.disconnect();
      drawn.destroy();
    };
  }, [shape, dark, height]);
  useEffect(() => {
    plot.current?.setData([times, ...series.map(({ values }) => values)] as uPlot.AlignedData);
  }, [times, series]);
  return <div class="chart" ref={element} role="img" aria-label={title} />;
};
