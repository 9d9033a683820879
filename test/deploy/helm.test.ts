import { spawnSync } from 'node:child_process';
import { readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { loadAgentConfig } from '../../agent/config.js';
import { createProbes } from '../../agent/probes.js';
import { clone } from '../../dev/layout.js';
import { temporaryFolder } from '../support/processes.js';
import { chartFolder, defaults, everything, faultsOf, findHelm, podOf, render, runHelm } from './chart.js';
import { chartPage, chartValues, withCurrentValues } from './chart-values.js';
import { type Container, type KubernetesObject, kubernetesVersions, schemaFaults } from './kubernetes/objects.js';

const textOf = (file: string) => readFileSync(join(clone, file), 'utf8');

describe('the chart', () => {
  it('has the version of package.json, and so have its images', () => {
    const { version, name } = JSON.parse(textOf('package.json'));
    expect(parse(textOf('deploy/helm/Chart.yaml'))).toMatchObject({ name, version, appVersion: version });
    expect([defaults.image.gateway.tag, defaults.image.agent.tag]).toEqual(['', '']);
  });

  it('has a README whose table is that of values.yaml and values.schema.json', async () => {
    const page = readFileSync(chartPage, 'utf8');
    expect(page).toBe(await withCurrentValues(page));
    const values = await chartValues();
    expect(values.filter(({ description }) => description === '').map(({ key }) => key)).toEqual([]);
    expect(values.map(({ key }) => key).toSorted()).toEqual(
      [
        ...leavesOf(
          defaults,
          values.map(({ key }) => key),
        ),
      ].toSorted(),
    );
  });
});

/** The dotted keys of values.yaml, down to those that the schema takes as one value. */
function* leavesOf(values: object, known: readonly string[], prefix = ''): Generator<string> {
  for (const [name, value] of Object.entries(values)) {
    const key = `${prefix}${name}`;
    if (known.includes(key) || typeof value !== 'object') yield key;
    else yield* leavesOf(value, known, `${key}.`);
  }
}

const program = findHelm(import.meta.url);

const onIpv6 = defaults.gateway.config.replaceAll('"0.0.0.0:', '"[::]:');

const keyChanges = { ...everything, gateway: { ...everything.gateway, nextSecret: 'svc-gateway-next' } };

const cases: [name: string, values: object, parts: string[]][] = [
  ['as it is', {}, ['agent', 'api', 'worker']],
  ['with everything', everything, ['agent', 'api', 'worker']],
  ['on IPv6', { gateway: { config: onIpv6 } }, ['agent', 'api', 'worker']],
  ['while the secret key changes', keyChanges, ['agent', 'api', 'next-key', 'worker']],
  ['without the API', { ...everything, api: { enabled: false } }, ['agent', 'worker']],
  ['without the worker', { worker: { enabled: false } }, ['agent', 'api']],
  ['without the agent', { agent: { enabled: false } }, ['api', 'worker']],
  ['with agents alone', { api: { enabled: false }, worker: { enabled: false }, agent: { replicas: 3 } }, ['agent']],
];

describe.skipIf(program === null)('helm', () => {
  const rendered = new Map<string, KubernetesObject[]>();
  const objectsOf = (name: string, values: object): KubernetesObject[] => {
    const objects = rendered.get(name) ?? render(program!, values);
    rendered.set(name, objects);
    return objects;
  };
  const find = (objects: readonly KubernetesObject[], kind: string, name: string) =>
    objects.find((one) => one.kind === kind && one.metadata.name === `gate-svc-gateway-${name}`)!;
  const containerOf = (objects: readonly KubernetesObject[], kind: string, name: string): Container =>
    podOf(find(objects, kind, name))!.containers[0]!;

  describe.each(cases)('%s', (name, values, parts) => {
    it('is taken by lint', () => {
      const lint = runHelm(program!, ['lint', '--strict', chartFolder], values);
      expect(lint).toEqual({ status: 0, printed: expect.stringContaining('0 chart(s) failed') });
    });

    it('has the parts that it should, by the published schemas and our rules (DV-15)', () => {
      const objects = objectsOf(name, values);
      const found = objects.flatMap((one) => podOf(one)?.containers.map((container) => container.name) ?? []);
      expect(found.toSorted()).toEqual(parts);
      for (const version of kubernetesVersions) expect(objects.flatMap((one) => schemaFaults(one, version))).toEqual([]);
      expect([...faultsOf(objects)]).toEqual([]);
      const ids = objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
      expect(new Set(ids).size).toBe(ids.length);
    });

    it('has no NetworkPolicy, budget or account of a part that is left out', () => {
      for (const part of ['api', 'worker', 'agent', 'next-key'].filter((one) => !parts.includes(one)))
        expect(objectsOf(name, values).filter(({ metadata }) => metadata.name.endsWith(`-${part}`))).toEqual([]);
    });
  });

  it.each(cases.filter(([, , parts]) => parts.includes('api')))(
    '%s: svc config check takes its server.toml',
    async (name, values) => {
      const objects = objectsOf(name, values);
      const folder = await temporaryFolder();
      const file = join(folder, 'server.toml');
      for (const mounted of ['tls.crt', 'tls.key']) writeFileSync(join(folder, mounted), 'of Temporal');
      writeFileSync(file, find(objects, 'ConfigMap', 'gateway').data!['server.toml']!.replaceAll('/etc/svc-tls', folder));
      const given = containerOf(objects, 'Deployment', 'api').env.map(({ name, value }) => [name, value]);
      const secrets = {
        SVC_SECRET_KEY: '0'.repeat(64),
        SVC_DATABASE_URL: 'postgres://svc:x@db/svc',
        SVC_DATABASE_PASSWORD: 'x',
        SVC_BOOTSTRAP_ADMIN_TOKEN: `svc_${'0'.repeat(32)}`,
        SLACK_BOT_TOKEN: 'xoxb',
        SLACK_SIGNING_SECRET: 'x',
      };
      const { status, stdout, stderr } = spawnSync(
        process.execPath,
        [join(clone, 'bin/svc'), 'config', 'check', '--config', file, ...(name === 'as it is' ? ['--strict'] : [])],
        { encoding: 'utf8', env: { PATH: process.env.PATH, ...Object.fromEntries(given), ...secrets } },
      );
      expect({ status, said: stdout + stderr }).toEqual({ status: 0, said: expect.any(String) });
    },
  );

  it('takes the values that its page shows', () => {
    const blocks = [...textOf('deploy/helm/README.md').matchAll(/^ *```yaml\n(.*?)^ *```$/gms)].map(([, block]) => parse(block!));
    const shown = blocks.filter((block) => block.image ?? block.api);
    expect(shown.length).toBe(2);
    const config = defaults.gateway.config.replace('#trusted_proxies', 'trusted_proxies');
    for (const values of shown) expect(render(program!, { ...values, gateway: { ...values.gateway, config } })).not.toEqual([]);
  });

  it('svc-agent takes its agent.toml', async () => {
    const folder = await temporaryFolder();
    const objects = objectsOf('as it is', {});
    const file = join(folder, 'agent.toml');
    writeFileSync(file, find(objects, 'ConfigMap', 'agent').data!['agent.toml']!.replaceAll('/etc/svc-agent-tokens', folder));
    writeFileSync(join(folder, 'gate-svc-gateway-agent-0'), `svc_${'0'.repeat(32)}`);
    const address = 'postgres://svc:x@db/shop?sslmode=verify-full';
    const config = loadAgentConfig(file, {
      SVC_AGENT_NAME: 'gate-svc-gateway-agent-0',
      SVC_SERVER_URL: defaults.agent.env.SVC_SERVER_URL,
      SHOP_PRODUCTION_URL: address,
      SHOP_PRODUCTION_READ_URL: address,
    });
    expect(config).toMatchObject({ agentId: 'gate-svc-gateway-agent-0', probes: { dir: '/var/lib/svc-agent/probes' } });
  });

  it('server and worker listen where the probes look for them, on IPv4 or IPv6', () => {
    const listens = (name: string, values: object) => {
      const objects = objectsOf(name, values);
      const { args } = containerOf(objects, 'Deployment', 'api');
      const worker = /\[worker\]\nlisten = "(.*)"/.exec(find(objects, 'ConfigMap', 'gateway').data!['server.toml']!)?.[1];
      return [args[args.indexOf('--listen') + 1], worker];
    };
    expect(listens('as it is', {})).toEqual(['0.0.0.0:3000', '0.0.0.0:3001']);
    expect(listens('with everything', everything)).toEqual(['0.0.0.0:3000', '0.0.0.0:3001']);
    expect(listens('on IPv6', { gateway: { config: onIpv6 } })).toEqual(['[::]:3000', '[::]:3001']);
  });

  it('a pod is killed only after its drain (OP-61, AP-17)', () => {
    const graceOf = (values: object, kind: string, name: string) =>
      podOf(find(render(program!, values), kind, name))!.terminationGracePeriodSeconds;
    expect(graceOf({}, 'Deployment', 'api')).toBe(40);
    expect(graceOf(everything, 'Deployment', 'api')).toBe(65);
    expect(graceOf({}, 'StatefulSet', 'agent')).toBe(80);
    const slow = { agent: { config: `drain_timeout_secs = 600\n${defaults.agent.config}` } };
    expect(graceOf(slow, 'StatefulSet', 'agent')).toBe(620);
  });

  it('while the secret key changes, neither server nor worker runs', () => {
    const replicasOf = (name: string, values: object) =>
      ['api', 'worker'].map((part) => find(objectsOf(name, values), 'Deployment', part).spec!.replicas);
    expect(replicasOf('with everything', everything)).toEqual([3, 2]);
    expect(replicasOf('while the secret key changes', keyChanges)).toEqual([0, 0]);
  });

  it('the Job gives both keys to svc server keys rotate-secret, the next one in a file that nobody else reads', async () => {
    const folder = await temporaryFolder();
    const job = containerOf(objectsOf('while the secret key changes', keyChanges), 'Job', 'next-key');
    expect(job.envFrom).toEqual([{ secretRef: { name: 'svc-gateway' } }]);
    expect(job.env).toContainEqual({
      name: 'SVC_NEXT_SECRET_KEY',
      valueFrom: { secretKeyRef: { name: 'svc-gateway-next', key: 'SVC_SECRET_KEY' } },
    });
    writeFileSync(join(folder, 'svc'), '#!/bin/sh\necho "$@"\nstat -c %a "$4"\ncat "$4"\n', { mode: 0o755 });
    const [command = '', ...args] = job.command!.map((part) => part.replaceAll('/tmp/', `${folder}/`));
    const { stdout } = spawnSync(command, args, {
      encoding: 'utf8',
      env: { PATH: `${folder}:${process.env.PATH}`, SVC_NEXT_SECRET_KEY: 'the next key' },
    });
    const key = join(folder, 'next.key');
    expect(stdout).toBe(`server keys rotate-secret ${key} --config /etc/svc/server.toml\n600\nthe next key\n`);
  });

  it('another configuration starts the pods anew, and no other change of values does', () => {
    const sumOf = (values: object) =>
      find(render(program!, values), 'Deployment', 'api').spec!.template!.metadata.annotations['checksum/config'];
    const sum = sumOf({});
    expect(sumOf({ networkPolicy: { enabled: true } })).toBe(sum);
    expect(sumOf({ gateway: { config: `${defaults.gateway.config}\n[logging]\nlevel = "debug"\n` } })).not.toBe(sum);
  });

  it("the probes of the agent follow the agent's files (AP-16)", async () => {
    const dir = join(await temporaryFolder(), 'probes');
    const { livenessProbe, readinessProbe } = containerOf(objectsOf('as it is', {}), 'StatefulSet', 'agent');
    const passes = (probe: Container['livenessProbe']) => {
      const [command = '', ...args] = probe!.exec!.command.map((part) => part.replaceAll('/var/lib/svc-agent/probes', dir));
      return spawnSync(command, args).status === 0;
    };
    const state = () => ({ alive: passes(livenessProbe), ready: passes(readinessProbe) });
    expect(state()).toEqual({ alive: false, ready: false });
    const probes = createProbes({ dir, listen: null, aliveForMs: 1000 });
    probes.alive();
    expect(state()).toEqual({ alive: true, ready: false });
    probes.setReady(true);
    expect(state()).toEqual({ alive: true, ready: true });
    const old = Date.now() / 1000 - 90;
    utimesSync(join(dir, 'svc-agent-alive'), old, old);
    expect(state()).toEqual({ alive: false, ready: true });
    await probes.close();
    expect(state()).toEqual({ alive: false, ready: false });
  });
});
