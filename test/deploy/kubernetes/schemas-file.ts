import { readFile, writeFile } from 'node:fs/promises';

/**
 * Writes `<version>.json` beside this file: of Kubernetes' published schemas those that the chart needs, without their descriptions.
 *
 *     pip download --no-deps kubernetes-validate && unzip kubernetes_validate-*.whl
 *     npx tsx test/deploy/kubernetes/schemas-file.ts kubernetes_validate/kubernetes-json-schema/v1.37.0-local-strict/_definitions.json 1.37
 */
const kinds = [
  'apps.v1.Deployment',
  'apps.v1.StatefulSet',
  'autoscaling.v2.HorizontalPodAutoscaler',
  'batch.v1.Job',
  'core.v1.ConfigMap',
  'core.v1.Service',
  'core.v1.ServiceAccount',
  'networking.v1.Ingress',
  'networking.v1.NetworkPolicy',
  'policy.v1.PodDisruptionBudget',
];

const [, , source = '', version = ''] = process.argv;
const published: Record<string, object> = JSON.parse(await readFile(source, 'utf8')).$defs;
const kept = new Map<string, object>();
for (const kind of kinds) keep(`io.k8s.api.${kind}`);
const lines = [...kept]
  .toSorted(([a], [b]) => (a < b ? -1 : 1))
  .map(([name, schema]) => `${JSON.stringify(name)}: ${JSON.stringify(schema)}`);
await writeFile(new URL(`${version}.json`, import.meta.url), `{ "definitions": {\n${lines.join(',\n')}\n} }\n`);

/** Keeps a schema and all that it refers to. */
function keep(name: string): void {
  if (kept.has(name)) return;
  kept.set(name, {});
  kept.set(name, stripped(published[name]!) as object);
}

function stripped(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(stripped);
  if (typeof schema !== 'object' || schema === null) return schema;
  return Object.fromEntries(Object.entries(schema).flatMap(([key, value]) => entry(key, value)));
}

function entry(key: string, value: unknown): [string, unknown][] {
  if (key === 'description' && typeof value === 'string') return [];
  if (key.startsWith('x-kubernetes') || key === 'format') return [];
  // The servers of Kubernetes take null for whatever is left out; the chart leaves it out.
  if (key === 'type' && Array.isArray(value)) return [[key, value.filter((type) => type !== 'null')]];
  if (key !== '$ref') return [[key, stripped(value)]];
  const name = String(value).split('/').at(-1)!;
  keep(name);
  return [[key, `#/definitions/${name}`]];
}
