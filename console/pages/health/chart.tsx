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
  const series = lines.map(({ name, colour: own }) => ({
    label: name,
    stroke: colour(own),
    width: 1.5,
    points: { show: false },
  }));
  host.style.color = '';
  return {
    width: host.clientWidth,
    height,
    legend: { show: false },
    cursor: { show: false },
    axes: [axis, { ...axis, size: 44 }],
    series: [{}, ...series],
  };
}
