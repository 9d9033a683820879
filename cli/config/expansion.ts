import { failure } from '../failure.js';

type Variables = Readonly<Record<string, string | undefined>>;

const reference = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g;

/** `${NAME}` and `${NAME:-default}` replaced; an undefined name is `config_error`, naming the key and never a value (CL-04). */
export function expand(text: string, where: string, environment: Variables): string {
  return text.replace(reference, (_, name: string, otherwise: string | undefined) => {
    const value = variable(name, environment) ?? otherwise;
    if (value === undefined) throw failure('config_error', `${where}: the environment variable ${name} is not set`);
    return value;
  });
}

/**
 * As `expand`, for a file that was found and not named: whoever wrote it may be a stranger. It reads the variables of `svc` alone, and
 * those that are secrets only as its token (HD-60).
 */
export function expandFound(text: string, where: string, key: string, environment: Variables): string {
  for (const [, name] of text.matchAll(reference)) {
    if (!name!.startsWith('SVC_'))
      throw failure('config_error', `${where}: a project file reads only variables whose name begins with SVC_, not ${name}`, {
        hint: 'rename the variable; or, if the file is yours, name it with --config',
      });
    if (key !== 'server.token' && secretName.test(name!))
      throw failure('config_error', `${where}: a project file reads ${name} only as server.token`);
  }
  return expand(text, where, environment);
}

/** Whether a text takes the value of a variable that is set. */
export function readsEnvironment(text: string, environment: Variables): boolean {
  return [...text.matchAll(reference)].some(([, name]) => variable(name!, environment) !== undefined);
}

const secretName = /TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|KEY/i;

const variable = (name: string, environment: Variables) => (Object.hasOwn(environment, name) ? environment[name] : undefined);
