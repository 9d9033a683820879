import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import type { Chart as Drawn } from '../../format/last-hour.js';
import type { Scheme } from '../../state/appearance.js';

interface ChartProps {
  chart: Drawn;
  /** When each minute began, in seconds. */
  times: number[];
  /** Of the page; another one draws it again. */
  scheme: Scheme;
}

const height = 150;

/**
 * A small picture; the sentence below says the same to those who do not see it. It imports no state: with that the first load of the page would be
 * one file more, which both share.
 */
export default function Chart({ chart, times, scheme }: ChartProps) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const host = place.current!;
    const plot = new uPlot(optionsOf(chart, host), [times, ...chart.lines.map(({ values }) => values)], host);
    const watcher = new ResizeObserver(() => plot.setSize({ width: host.clientWidth, height }));
    watcher.observe(host);
    return () => {
      watcher.disconnect();
      plot.destroy();
    };
  }, [chart, times, scheme]);
  return <div class="chart" ref={place} aria-hidden="true" />;
}

const clockText = (seconds: number) => new Date(seconds * 1000).toTimeString().slice(0, 5);

/** Short enough for the room beside the picture. */
const markText = (mark: number) => (mark < 1000 ? String(mark) : `${mark / 1000}k`);

/** There is no half request. */
const wholeSteps = [0, 1, 2, 3, 4, 5].flatMap((power) => [1, 2, 5].map((step) => step * 10 ** power));

function optionsOf({ lines }: Drawn, host: HTMLElement): uPlot.Options {
  const style = getComputedStyle(host);
  // The page's colours name two schemes; only an element knows which holds.
  const colour = (name: string) => {
    host.style.color = `var(${name})`;
    return style.color;
  };
  const quiet = colour('--quiet');
  const line = colour('--line');
  const axis = { stroke: quiet, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 } };
  const series = lines.map(({ name, colour: own, values }) => ({
    label: name,
    stroke: colour(own),
    width: 1.5,
    // A value between two minutes without one is on no line.
    points: { show: values.includes(null), size: 5 },
  }));
  host.style.color = '';
  return {
    width: host.clientWidth,
    height,
    legend: { show: false },
    cursor: { show: false },
    // From 0, and at least to 1, which is the smallest step.
    scales: { y: { range: (_plot, _least, most) => [0, Math.max(1, most * 1.1)] } },
    axes: [
      { ...axis, values: (_plot, seconds) => seconds.map(clockText) },
      { ...axis, size: 44, incrs: wholeSteps, values: (_plot, marks) => marks.map(markText) },
    ],
    series: [{}, ...series],
  };
}
