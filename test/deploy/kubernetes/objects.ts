import { readFileSync } from 'node:fs';
import { Ajv } from 'ajv';

/** What the tests read of an object of Kubernetes; its whole form is checked by the published schemas. */
export interface KubernetesObject {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string; labels: Labels };
  data?: Record<string, string>;
  spec?: {
    selector?: Labels | { matchLabels: Labels };
    podSelector?: { matchLabels: Labels };
    scaleTargetRef?: { kind: string; name: string };
    template?: { metadata: { labels: Labels; annotations: Labels }; spec: PodSpec };
    ports?: { targetPort: string }[];
    [more: string]: unknown;
  };
}

export type Labels = Record<string, string>;

export interface PodSpec {
  automountServiceAccountToken?: boolean;
  serviceAccountName?: string;
  terminationGracePeriodSeconds: number;
  securityContext?: { runAsNonRoot?: boolean; runAsUser?: number; seccompProfile?: { type: string } };
  volumes: { name: string; emptyDir?: object; configMap?: { name: string }; secret?: object; persistentVolumeClaim?: object }[];
  containers: Container[];
}

export interface Container {
  name: string;
  image: string;
  command?: string[];
  args: string[];
  env: { name: string; value?: string; valueFrom?: object }[];
  envFrom: { secretRef: { name: string } }[];
  ports?: { name: string }[];
  startupProbe?: Probe;
  livenessProbe?: Probe;
  readinessProbe?: Probe;
  resources?: { requests?: Labels; limits?: Labels };
  securityContext?: { allowPrivilegeEscalation?: boolean; readOnlyRootFilesystem?: boolean; capabilities?: { drop?: string[] } };
  volumeMounts: { name: string; mountPath: string; readOnly?: boolean }[];
}

export interface Probe {
  httpGet?: { path: string; port: string };
  exec?: { command: string[] };
}

/** Versions whose schemas are beside this file: the oldest that the chart takes, and the newest. */
export const kubernetesVersions = ['1.30', '1.37'] as const;

const checkers = new Map(
  kubernetesVersions.map((version) => {
    const schemas = JSON.parse(readFileSync(new URL(`${version}.json`, import.meta.url), 'utf8'));
    return [version, new Ajv({ strict: false, allErrors: true }).addSchema(schemas, 'kubernetes')];
  }),
);

/** What the published schema of this version says against the object; unknown keys count. */
export function schemaFaults(
  { apiVersion, kind, ...rest }: KubernetesObject,
  version: (typeof kubernetesVersions)[number],
): string[] {
  const [group = '', revision = group] = apiVersion.split('/');
  const name = `io.k8s.api.${apiVersion.includes('/') ? group.split('.')[0] : 'core'}.${revision}.${kind}`;
  const check = checkers.get(version)!.getSchema(`kubernetes#/definitions/${name}`);
  if (check === undefined) return [`${apiVersion} ${kind} is unknown to Kubernetes ${version}`];
  check({ apiVersion, kind, ...rest });
  return (check.errors ?? []).map(
    ({ instancePath, message, params }) => `${kind} ${rest.metadata.name}${instancePath} ${message} ${JSON.stringify(params)}`,
  );
}
