import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { clone } from '../../dev/layout.js';
import { createMetrics } from '../../runtime/metrics.js';
import { findBuiltProgram } from '../support/go-program.js';
import { noteLeftOut } from '../support/not-run.js';
import { promtool } from '../support/promtool.js';

interface Panel {
  id: number;
  type: string;
  title: string;
  gridPos: { x: number; y: number; w: number; h: number };
  targets?: { refId: string; expr: string; datasource: { type: string; uid: string } }[];
}

const textOf = (file: string) => readFileSync(join(clone, file), 'utf8');
const folder = join(clone, 'deploy/prometheus');
const rules = textOf('deploy/prometheus/svc-rules.yml');
const operating = textOf('docs/operating.md');
const dashboard = JSON.parse(textOf('deploy/grafana/svc-dashboard.json'));
const panels: Panel[] = dashboard.panels;
const targets = panels.flatMap((panel) => panel.targets ?? []);

/** Label names of every series that a server or a worker exports: both make the same registry. */
const exported = new Map<string, string[]>();
const scraped = await createMetrics('0.0.0').registry.metrics();
const { registry } = createMetrics('0.0.0');
for (const [, name, type] of scraped.matchAll(/^# TYPE (\S+) (\S+)$/gm)) {
  const { labelNames } = registry.getSingleMetric(name!) as unknown as { labelNames: string[] };
  if (type !== 'histogram') exported.set(name!, labelNames);
  else for (const part of ['bucket', 'sum', 'count']) exported.set(`${name}_${part}`, [...labelNames, 'le']);
}

const recorded = new Set([...rules.matchAll(/- record: (\S+)/g)].map(([, name]) => name!));
const alerts = [...rules.matchAll(/- alert: (\S+)\n((?: {8}.*\n)+)/g)].map(([, name, body]) => ({ name: name!, body: body! }));
const withoutComments = rules.replace(/^\s*#.*$/gm, '').replace(/^ {8}annotations:\n(?: {10}.*\n)+/gm, '');

/** The names of series in PromQL; a recorded one has colons. */
const seriesIn = (text: string) => [...text.matchAll(/\b(?:svc|process)[:_][a-z0-9_:]+/g)].map(([name]) => name);

/** The labels that selectors of a series name, besides those that Prometheus adds. */
function* selectorsIn(text: string): Generator<[series: string, label: string]> {
  for (const [, series, selector] of text.matchAll(/\b((?:svc|process)_[a-z0-9_]+)\{([^}]*)\}/g))
    for (const [, label] of selector!.matchAll(/(\w+)\s*[!=]/g))
      if (!['job', 'instance'].includes(label!)) yield [series!, label!];
}

describe.each([
  ['svc-rules.yml', withoutComments],
  ['svc-rules.test.yml', textOf('deploy/prometheus/svc-rules.test.yml').replace(/^rule_files.*$|^\s*#.*$|^ *- name:.*$/gm, '')],
  ['svc-dashboard.json', targets.map(({ expr }) => expr).join('\n')],
])('%s', (_file, text) => {
  it('names only series that the programs export, by labels that they have (OP-20)', () => {
    const names = seriesIn(text);
    expect(names.length).toBeGreaterThan(20);
    expect(names.filter((name) => !exported.has(name) && !recorded.has(name))).toEqual([]);
    expect([...selectorsIn(text)].filter(([series, label]) => !exported.get(series)?.includes(label))).toEqual([]);
  });
});

it('every alert has a summary, a description, a severity and a part of the runbook that exists', () => {
  const anchors = new Set(
    [...operating.matchAll(/^#{2,3} (.*)$/gm)].map(([, heading]) =>
      heading!
        .toLowerCase()
        .replace(/[^a-z0-9 _-]/g, '')
        .replaceAll(' ', '-'),
    ),
  );
  expect(alerts.length).toBeGreaterThan(20);
  for (const { name, body } of alerts) {
    expect({ name, body }).toEqual({ name, body: expect.stringMatching(/summary: \S/) });
    expect({ name, body }).toEqual({ name, body: expect.stringMatching(/description: >-\n\s+\S/) });
    expect({ name, body }).toEqual({ name, body: expect.stringMatching(/severity: (critical|warning|info) /) });
    const [, anchor] = /runbook: docs\/operating\.md#(\S+)/.exec(body) ?? [];
    expect({ name, anchor, isThere: anchors.has(anchor ?? '') }).toEqual({ name, anchor, isThere: true });
  }
});

it('every alert has a test in which it fires', () => {
  const fired = new Set(
    [...textOf('deploy/prometheus/svc-rules.test.yml').matchAll(/alertname="(\w+)"/g)].map(([, name]) => name!),
  );
  expect([...fired].toSorted()).toEqual(alerts.map(({ name }) => name).toSorted());
});

it('docs/operating.md says of every series what is healthy', () => {
  const table = operating.slice(operating.indexOf('## What to watch'), operating.indexOf('## Runbook'));
  const names = new Set([...exported.keys()].map((name) => name.replace(/_(bucket|sum|count)$/, '')));
  expect([...names].filter((name) => !table.includes(`\`${name}\``))).toEqual([]);
});

describe('the dashboard', () => {
  it('has the form that Grafana imports', () => {
    expect(dashboard).toMatchObject({ uid: expect.any(String), title: expect.any(String), schemaVersion: expect.any(Number) });
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    for (const { type, title, targets = [] } of panels) {
      expect(['row', 'stat', 'timeseries']).toContain(type);
      expect({ title, queries: targets.length > 0 }).toEqual({ title, queries: type !== 'row' });
      expect(new Set(targets.map(({ refId }) => refId)).size).toBe(targets.length);
      // By the variable, so that it works with a Prometheus of any name.
      for (const { datasource } of targets)
        expect(datasource).toEqual({ type: 'prometheus', uid: expect.stringMatching(/^\$\{datasource\}$/) });
    }
  });

  it('has no panels over each other or beyond the 24 columns', () => {
    const taken = new Set<string>();
    for (const { title, gridPos } of panels) {
      expect({ title, end: gridPos.x + gridPos.w <= 24 }).toEqual({ title, end: true });
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x += 1)
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y += 1) {
          expect({ title, free: !taken.has(`${x},${y}`) }).toEqual({ title, free: true });
          taken.add(`${x},${y}`);
        }
    }
  });
});

const program = findBuiltProgram(promtool, process.env);
if (program === null) noteLeftOut(import.meta.url, 'promtool is missing: CI=true npm test builds it');

describe.skipIf(program === null)('promtool', () => {
  const run = (...args: string[]) => {
    const { status, stdout, stderr } = spawnSync(program!, args, { cwd: folder, encoding: 'utf8', timeout: 60_000 });
    expect({ status, said: stdout + stderr }).toEqual({ status: 0, said: expect.any(String) });
  };

  it('takes the rules, and their tests pass', () => {
    run('check', 'rules', 'svc-rules.yml');
    run('test', 'rules', 'svc-rules.test.yml');
  });

  it('takes what docs/operating.md says of scraping', () => {
    const blocks = [...operating.matchAll(/^```yaml\n(rule_files:.*?)^```$/gms)].map(([, block]) => block!);
    expect(blocks.length).toBe(2);
    for (const block of blocks) {
      const file = join(mkdtempSync(join(tmpdir(), 'svc-scraping-')), 'prometheus.yml');
      writeFileSync(file, block);
      run('check', 'config', '--syntax-only', file);
    }
  });

  it('understands every query of the dashboard', () => {
    const file = join(mkdtempSync(join(tmpdir(), 'svc-dashboard-')), 'queries.yml');
    // As the one by which the chart's agents become more.
    const [, ofAgents] = /metricsQuery: (.*)/.exec(textOf('deploy/helm/README.md'))!;
    const exprs = [...targets.map(({ expr }) => expr), ofAgents!];
    const queries = exprs.map((expr, n) => ({ record: `query:${n}`, expr }));
    // JSON is YAML.
    writeFileSync(file, JSON.stringify({ groups: [{ name: 'queries', rules: queries }] }));
    run('check', 'rules', file);
  });
});
