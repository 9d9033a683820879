import { expandText, findVariable, type Variables, variablesIn } from '../../lib/expansion.js';
import { failure } from '../failure.js';

/** Expands a text's variables; a failure is `config_error` and names the key, never a value (CL-04). */
export function expand(text: string, where: string, environment: Variables): string {
  const expanded = expandText(text, environment);
  if ('problem' in expanded) throw failure('config_error', `${where}: ${expanded.problem}`);
  return expanded.text;
}

/**
 * Like `expand`, for a file that was found rather than named: a stranger may have written it. Reads only the variables of `svc`,
 * and secret ones only as its token (HD-60).
 */
export function expandFound(text: string, where: string, key: string, environment: Variables): string {
  for (const name of variablesIn(text)) {
    if (!name.startsWith('SVC_'))
      throw failure('config_error', `${where}: a project file reads only variables whose name begins with SVC_, not ${name}`, {
        hint: 'rename the variable; or, if the file is yours, name it with --config',
      });
    if (key !== 'server.token' && secretName.test(name))
      throw failure('config_error', `${where}: a project file reads ${name} only as server.token`);
  }
  return expand(text, where, environment);
}

/** Whether a text uses the value of a set variable. */
export function readsEnvironment(text: string, environment: Variables): boolean {
  return variablesIn(text).some((name) => findVariable(name, environment) !== undefined);
}

const secretName = /TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|KEY/i;
