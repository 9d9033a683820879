import { statSync } from 'node:fs';
import { failed, type PlannedCheck, passed, warned } from '../../lib/doctor-checks.js';
import { expandText, findVariable, variablesIn } from '../../lib/expansion.js';
import { nearest } from '../../lib/nearest.js';
import { findCredential } from '../config/credential.js';
import type { FileLayer } from '../config/file.js';
import { addressText, requireTogether, serverPlace, serverSettings } from '../config/server.js';
import { isTrusted, readTrusted, trustedFile } from '../config/trusted.js';
import type { Place } from './place.js';

/** What `svc` reads of the environment besides what a file names. */
const ownVariables = [
  ...['SVC_CONFIG', 'SVC_SERVER_URL', 'SVC_TOKEN', 'SVC_DATABASE', 'SVC_ENV', 'SVC_ALLOW_INSECURE', 'SVC_YES'],
  ...['HTTPS_PROXY', 'HTTP_PROXY', 'ALL_PROXY', 'NO_PROXY'],
];

/** The checks of this machine's files and variables; nothing is sent. */
export const localChecks = (place: Place): PlannedCheck[] => [
  { id: 'config_parse', look: () => configParse(place) },
  { id: 'env_vars', needs: ['config_parse'], look: () => envVars(place) },
  { id: 'layer_safety', needs: ['config_parse'], look: () => layerSafety(place) },
  { id: 'server_url_scheme', needs: ['config_parse'], look: () => serverUrlScheme(place) },
];

function configParse(place: Place) {
  place.layers = place.context.layers();
  const files = place.layers.files.map(({ path }) => path);
  const warnings = place.heard();
  if (warnings.length > 0) return warned(warnings.join('; '), { hint: 'correct the file', details: { files, warnings } });
  if (files.length > 0) return passed(files.join(', '), { details: { files } });
  return passed('no svc.toml here and no global file; only environment variables are used', { details: { files } });
}

function envVars({ context: { terminal }, layers }: Place) {
  const { environment } = terminal;
  const texts = layers!.files.flatMap(({ values }) => [...values.values()].map(String));
  const named = [...new Set(texts.flatMap(variablesIn))];
  const isSet = (name: string) => Boolean(environment[name] || (name.endsWith('_PROXY') && environment[name.toLowerCase()]));
  const details = Object.fromEntries(
    [...new Set([...ownVariables, ...named])].map((name) => [name, isSet(name) ? 'set' : 'not set']),
  );
  const missing = named.filter((name) => findVariable(name, environment) === undefined);
  const unset = missing.filter((name) =>
    texts.some((text) => variablesIn(text).includes(name) && 'problem' in expandText(text, environment)),
  );
  if (unset.length > 0)
    return warned(`a file reads ${unset.join(', ')}: not set`, { hint: 'set it, or take it out of the file', details });
  const misspelt = Object.keys(environment).flatMap((name) => {
    if (!name.startsWith('SVC_') || environment[name] === '' || ownVariables.includes(name) || named.includes(name)) return [];
    const meant = nearest(name, ownVariables);
    return meant === null || isSet(meant) ? [] : [`${name} (did you mean ${meant}?)`];
  });
  if (misspelt.length > 0) return warned(`svc does not read ${misspelt.join(', ')}`, { hint: 'correct the name', details });
  const set = Object.keys(details).filter((name) => details[name] === 'set');
  return passed(set.length === 0 ? 'none is set' : `set: ${set.join(', ')}`, { details });
}

/** CL-06, and HD-60: whether the credential may go to the address at all. */
function layerSafety({ context, layers }: Place) {
  const { options, terminal } = context;
  const credential = findCredential(layers!);
  const address = layers!.find('server.url');
  if (credential === undefined || address === undefined) return passed('no credential that could go to a wrong server');
  requireTogether(address, credential);
  const settings = attempt(() => serverSettings(layers!, options, () => {}));
  const entry = settings?.needsTrust ?? null;
  if (entry !== null && !isTrusted(readTrusted(trustedFile(terminal.environment)), entry))
    return failed(`you do not trust the server ${entry.address} that svc.toml names yet; nothing was sent`, {
      hint: `if it is right: svc trust ${entry.address}`,
    });
  return passed('the credential and the address come from the same file, or both are yours');
}

/** Undefined where another check tells why. */
function attempt<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}

function serverUrlScheme({ context, layers }: Place) {
  const { baseUrl, where, isOpen } = serverPlace(layers!, context.options);
  const address = addressText(baseUrl);
  const details = { address, from: where };
  if (isOpen) return warned(`${address}: plain http shows the token to the network`, { hint: 'use https', details });
  return passed(`${address} (${where})`, { details });
}

/** Whether there is a credential; whether the server takes it is another check. */
export function authConfigured({ context, layers, heard }: Place) {
  const { credential, source } = context.settings();
  const loose = layers!.files.filter(holdsToken).filter(isReadableByOthers);
  const warnings = [
    ...heard(),
    ...loose.map(({ path }) => `${path} holds a token and can be read by others; run chmod 600 on it`),
  ];
  const kind = credential.kind === 'login' ? `login at ${credential.provider.issuer}` : `token of ${source}`;
  const details = { kind: credential.kind, from: source };
  return warnings.length > 0 ? warned(warnings.join('; '), { hint: 'chmod 600 the file', details }) : passed(kind, { details });
}

function holdsToken({ values }: FileLayer): boolean {
  const token = values.get('server.token');
  return typeof token === 'string' && variablesIn(token).length === 0;
}

function isReadableByOthers({ path }: FileLayer): boolean {
  return process.platform !== 'win32' && (statSync(path).mode & 0o077) !== 0;
}
