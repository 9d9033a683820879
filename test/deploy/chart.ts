import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { clone } from '../../dev/layout.js';
import { findBuiltProgram } from '../support/go-program.js';
import { helm } from '../support/helm.js';
import { noteLeftOut } from '../support/not-run.js';
import type { Container, KubernetesObject, Labels, PodSpec } from './kubernetes/objects.js';

export const chartFolder = join(clone, 'deploy/helm');
export const defaults = parse(readFileSync(join(chartFolder, 'values.yaml'), 'utf8'));

/** The program, or null and a note that the tests of this file are left out. */
export function findHelm(testFile: string): string | null {
  const program = findBuiltProgram(helm, process.env);
  if (program === null) noteLeftOut(testFile, `helm is missing: go install ${helm.package}@${helm.version}`);
  return program;
}

/** Every part of the chart, each with all of its options. */
export const everything = {
  image: { gateway: { digest: `sha256:${'0'.repeat(64)}` }, agent: { tag: '9.9.9' }, pullSecrets: [{ name: 'registry' }] },
  gateway: {
    mounts: [{ name: 'temporal-tls', secret: 'temporal-client', mountPath: '/etc/svc-tls' }],
    resultsClaim: 'results',
    serviceAccount: { annotations: { 'cloud.example.net/role': 'svc' } },
    config: `
state_dir = "/var/lib/svc/state"
trusted_proxies = ["10.0.0.0/8"]
[server]
drain_secs = 45
[worker]
listen = "0.0.0.0:3001"
[database]
url = "postgres://svc:\${SVC_DATABASE_PASSWORD}@db.internal/svc"
[temporal]
address = "\${SVC_TEMPORAL_ADDRESS}"
tls_files = { cert = "/etc/svc-tls/tls.crt", key = "/etc/svc-tls/tls.key" }
[result_storage]
root_dir = "/var/lib/svc-results"
[[databases]]
name = "shop"
environments = ["production"]
[slack]
bot_token = "\${SLACK_BOT_TOKEN}"
signing_secret = "\${SLACK_SIGNING_SECRET}"
`,
  },
  api: {
    replicas: 3,
    service: { type: 'LoadBalancer', port: 80, annotations: { a: 'b' } },
    ingress: { enabled: true, className: 'nginx', host: 'svc.example.net', tlsSecret: 'tls', annotations: { c: 'd' } },
    ...somewhere(),
  },
  worker: somewhere(),
  agent: {
    mounts: [{ name: 'authority', configMap: 'ca', mountPath: '/etc/svc-ca' }],
    serviceAccount: { create: false },
    autoscaling: { enabled: true, minReplicas: 2, selector: { matchLabels: { database: 'shop' } } },
    ...somewhere(),
  },
  networkPolicy: {
    enabled: true,
    callers: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'ingress' } } }],
    scrapers: [{ podSelector: { matchLabels: { app: 'prometheus' } } }],
    gatewayEgress: [{ to: [{ ipBlock: { cidr: '10.0.0.0/8' } }] }],
    agentEgress: [{ to: [{ ipBlock: { cidr: '10.1.0.0/16' } }], ports: [{ port: 5432 }] }],
  },
};

function somewhere() {
  return {
    podAnnotations: { 'example.net/scrape': 'true' },
    nodeSelector: { pool: 'databases' },
    tolerations: [{ key: 'dedicated', operator: 'Exists' }],
    affinity: { podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [] } },
  };
}

/** What the chart has no default for. */
const required = { gateway: { env: { SVC_RESULTS_BUCKET: 'example-results' } } };

/** Runs helm with `values`, and what is required besides, as files after the arguments. */
export function runHelm(helm: string, args: readonly string[], values: object): { status: number | null; printed: string } {
  const folder = mkdtempSync(join(tmpdir(), 'svc-chart-'));
  const files = [required, values].flatMap((one, index) => {
    const file = join(folder, `values-${index}.yaml`);
    // JSON is YAML.
    writeFileSync(file, JSON.stringify(one));
    return ['--values', file];
  });
  const home = { HELM_CACHE_HOME: folder, HELM_CONFIG_HOME: folder, HELM_DATA_HOME: folder };
  const { status, stdout, stderr } = spawnSync(helm, [...args, ...files], {
    env: { PATH: process.env.PATH, HOME: folder, ...home },
    encoding: 'utf8',
    timeout: 60_000,
  });
  return { status, printed: status === 0 ? stdout : stdout + stderr };
}

/** The objects of a release `gate` in the namespace `db`. */
export function render(helm: string, values: object): KubernetesObject[] {
  const { status, printed } = runHelm(helm, ['template', 'gate', chartFolder, '--namespace', 'db'], values);
  if (status !== 0) throw new Error(printed);
  return parseAllDocuments(printed).flatMap((one) => {
    if (one.errors.length > 0) throw one.errors[0];
    const object: KubernetesObject | null = one.toJS();
    return object === null ? [] : [object];
  });
}

export const podOf = (object: KubernetesObject): PodSpec | undefined => object.spec?.template?.spec;

/** What breaks the rules that every object of the chart keeps, in one line each. */
export function* faultsOf(objects: readonly KubernetesObject[]): Generator<string> {
  const accounts = objects.filter(({ kind }) => kind === 'ServiceAccount').map(({ metadata }) => metadata.name);
  for (const object of objects) {
    const where = `${object.kind} ${object.metadata.name}`;
    if (object.metadata.namespace !== 'db') yield `${where}: namespace`;
    const pod = podOf(object);
    if (pod === undefined) yield* danglingIn(object, objects, where);
    else yield* podFaults(pod, accounts, where);
    for (const text of Object.values(object.data ?? {}))
      if (/svc_[0-9a-f]{32}|:\/\/[^/@\s"]*:(?!\$\{)[^/@\s"]+@/.test(text)) yield `${where}: a secret`;
  }
}

/** A selector or reference that nothing answers to. */
function* danglingIn({ kind, spec = {} }: KubernetesObject, objects: readonly KubernetesObject[], where: string) {
  const selector = spec.podSelector?.matchLabels ?? (spec.selector as { matchLabels?: Labels })?.matchLabels ?? spec.selector;
  if (selector !== undefined) {
    const found = objects.filter(({ spec: { template } = {} }) =>
      Object.entries(selector).every(([label, value]) => template?.metadata.labels[label] === value),
    );
    if (found.length !== 1) yield `${where}: selects the pods of ${found.length} objects`;
  }
  const target = spec.scaleTargetRef;
  if (target && !objects.some((one) => one.kind === target.kind && one.metadata.name === target.name)) yield `${where}: ${kind}`;
}

function* podFaults(pod: PodSpec, accounts: readonly string[], where: string): Generator<string> {
  const { securityContext: security } = pod;
  if (pod.automountServiceAccountToken !== false) yield `${where}: a token of the ServiceAccount`;
  if (!['default', ...accounts].includes(pod.serviceAccountName ?? '')) yield `${where}: ServiceAccount`;
  if (security?.runAsNonRoot !== true || !((security.runAsUser ?? 0) > 0)) yield `${where}: root`;
  if (security?.seccompProfile?.type !== 'RuntimeDefault') yield `${where}: seccomp`;
  for (const container of pod.containers) yield* containerFaults(container, pod, where);
  // A Job ends by itself.
  if (!where.startsWith('Job '))
    for (const { livenessProbe, readinessProbe } of pod.containers)
      if (!livenessProbe || !readinessProbe) yield `${where}: probes`;
}

function* containerFaults(container: Container, pod: PodSpec, where: string): Generator<string> {
  const { securityContext: security, resources, livenessProbe, readinessProbe } = container;
  if (security?.readOnlyRootFilesystem !== true) yield `${where}: writable root`;
  if (security?.allowPrivilegeEscalation !== false || security.capabilities?.drop?.[0] !== 'ALL') yield `${where}: rights`;
  if (!resources?.requests?.cpu || !resources.requests.memory || !resources.limits?.memory) yield `${where}: resources`;
  if (!/:[^:/]+$/.test(container.image) || container.image.endsWith(':latest')) yield `${where}: image`;
  for (const probe of [container.startupProbe, livenessProbe, readinessProbe])
    if (probe?.httpGet && !container.ports?.some(({ name }) => name === probe.httpGet!.port)) yield `${where}: port of a probe`;
  const names = container.volumeMounts.map(({ name }) => name);
  if (
    new Set(names).size !== names.length ||
    names.toSorted().join() !==
      pod.volumes
        .map(({ name }) => name)
        .toSorted()
        .join()
  )
    yield `${where}: mounts ${names} of ${pod.volumes.map(({ name }) => name)}`;
  for (const { name, readOnly } of container.volumeMounts) {
    const volume = pod.volumes.find((one) => one.name === name);
    if (!readOnly && !volume?.emptyDir && !volume?.persistentVolumeClaim) yield `${where}: ${name} is writable`;
  }
}
