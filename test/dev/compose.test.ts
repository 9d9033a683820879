import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { parse as parseToml } from 'smol-toml';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { clone } from '../../dev/layout.js';
import { temporaryFolder } from '../support/processes.js';

const compose = readFileSync(join(clone, 'docker-compose.yml'), 'utf8');

/** Runs what `npm run compose:env` runs, for another file than the clone's `.env`. */
const makeEnvironment = (file: string) =>
  spawnSync(process.execPath, [join(clone, 'dev/compose-env.mjs'), file], { encoding: 'utf8' });

const readEnvironment = (file: string): Record<string, string> =>
  Object.fromEntries(
    readFileSync(file, 'utf8')
      .trim()
      .split('\n')
      .map((line) => line.split('=') as [string, string]),
  );

/** The lines of one service. */
const service = (name: string): string => new RegExp(`^  ${name}:\n(?: {4}.*\n|\n)+`, 'm').exec(compose)![0];

it('npm run compose:env writes each secret that docker-compose.yml demands, for its owner only, and never twice (DV-13)', async () => {
  const folder = await temporaryFolder();
  const file = join(folder, '.env');
  expect(makeEnvironment(file).status).toBe(0);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const written = readEnvironment(file);
  const demanded = new Set([...compose.matchAll(/\$\{(\w+):\?run npm run compose:env\}/g)].map(([, name]) => name));
  expect(Object.keys(written).toSorted()).toEqual([...demanded].toSorted());
  expect(compose.match(/\$\{\w+\}/)).toBeNull();
  expect(new Set(Object.values(written)).size).toBe(demanded.size);
  const again = makeEnvironment(file);
  expect([again.status, again.stderr]).toEqual([1, `error: ${file} already exists; its secrets are in use\n`]);
  expect(readEnvironment(file)).toEqual(written);
  expect(readdirSync(folder)).toEqual(['.env']);
});

it('deploy/server.toml is right, without a warning, with what compose gives it (DV-13)', async () => {
  const file = join(await temporaryFolder(), '.env');
  makeEnvironment(file);
  const given = { SVC_DATABASE_URL: 'postgres://svc:x@postgres:5432/svc', SVC_TEMPORAL_ADDRESS: 'temporal:7233' };
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [join(clone, 'bin/svc'), 'config', 'check', '--strict', '--config', join(clone, 'deploy/server.toml')],
    { encoding: 'utf8', env: { PATH: process.env.PATH, ...readEnvironment(file), ...given } },
  );
  expect([status, stderr, stdout]).toEqual([0, '', expect.stringMatching(/ok|valid|right/i)]);
});

it('only the agent has passwords of the target, and nothing of the gateway but its token (DV-13)', () => {
  expect(service('agent')).toContain('SHOP_WRITE_PASSWORD');
  for (const secret of ['SVC_SECRET_KEY', 'SVC_BOOTSTRAP_ADMIN_TOKEN', 'SVC_DATABASE', 'state:'])
    expect([secret, service('agent').includes(secret)]).toEqual([secret, false]);
  const gateway = /^x-gateway:[\s\S]*?^services:/m.exec(compose)![0] + service('api') + service('worker');
  expect(gateway).not.toMatch(/SHOP_/);
});

interface Service {
  read_only?: boolean;
  cap_drop?: string[];
  security_opt?: string[];
  stop_grace_period?: string;
  image: string;
  ports?: string[];
  networks?: string[];
  depends_on?: Record<string, { condition: string }>;
}

const services: Record<string, Service> = parse(compose, { merge: true }).services;

it('every container but those of PostgreSQL and the UI has a read-only file system, and no rights (DV-13)', () => {
  const open = Object.entries(services).filter(
    ([, { read_only, cap_drop, security_opt }]) =>
      !read_only || cap_drop?.[0] !== 'ALL' || security_opt?.[0] !== 'no-new-privileges:true',
  );
  expect(open.map(([name]) => name)).toEqual(['postgres', 'temporal-ui']);
});

it('every image has a version, ours one that can be set: the older one stays, to go back to', () => {
  const ours = ['api', 'worker', 'agent', 'pins'];
  for (const [name, { image }] of Object.entries(services))
    expect([name, image]).toEqual([
      name,
      expect.stringMatching(ours.includes(name) ? /:\$\{SVC_VERSION:-latest\}$/ : /:\d[\w.]*$/),
    ]);
});

it('nothing but PostgreSQL starts before the databases are there', () => {
  const waits = (name: string): boolean =>
    Object.entries(services[name]!.depends_on ?? {}).some(([other, { condition }]) =>
      other === 'databases' ? condition === 'service_completed_successfully' : waits(other),
    );
  const inData = Object.keys(services).filter((name) => services[name]!.networks!.includes('data'));
  expect(inData.filter((name) => !waits(name))).toEqual(['postgres', 'databases']);
});

it('a Prometheus in the network reaches server and worker, and other machines reach no container', () => {
  const { server, worker } = parseToml(readFileSync(join(clone, 'deploy/server.toml'), 'utf8')) as Record<string, unknown>;
  expect([server, worker]).toMatchObject([{ listen: '0.0.0.0:3000' }, { listen: '0.0.0.0:3001' }]);
  for (const name of ['api', 'worker']) expect(services[name]!.networks).toContain('gateway');
  const published = Object.values(services).flatMap(({ ports }) => ports ?? []);
  expect(published).toEqual(['127.0.0.1:8233:8080', '127.0.0.1:3000:3000']);
});

it('the image of the gateway has the certificates that the native client of Temporal looks for', () => {
  const stage = /^FROM \S+ AS gateway\n[\s\S]*?(?=^FROM)/m.exec(readFileSync(join(clone, 'Dockerfile'), 'utf8'))![0];
  expect(stage).toMatch(/apt-get install .*ca-certificates/);
});

it('a container is killed only after its drain (OP-61, AP-17)', () => {
  const graceOf = (name: string) => Number(/^(\d+)s$/.exec(services[name]!.stop_grace_period!)![1]);
  // Neither file sets drain_secs (20) or drain_timeout_secs (60).
  for (const file of ['server', 'agent'])
    expect(readFileSync(join(clone, `deploy/${file}.toml`), 'utf8')).not.toMatch(/^drain_/m);
  expect(graceOf('api')).toBeGreaterThanOrEqual(20 + 5 + 10);
  expect(graceOf('worker')).toBeGreaterThanOrEqual(25 + 10);
  expect(graceOf('agent')).toBeGreaterThanOrEqual(60 + 15);
});
