import { expandText, findVariable, type Variables, variablesIn } from '../../lib/expansion.js';
import { failure } from '../failure.js';

/** A text with its variables expanded; what cannot be is `config_error`, naming the key and never a value (CL-04). */
export function expand(text: string, where: string, environment: Variables): string {
  const expanded = expandText(text, environment);
  if ('problem' in expanded) throw failure('config_error', `${where}: ${expanded.problem}`);
  return expanded.text;
}

/**
 * As `expand`, for a file that was found and not named: whoever wrote it may be a stranger. It reads the variables of `svc` alone, and
 * those that are secrets only as its token (HD-60).
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

/** Whether a text takes the value of a variable that is set. */
export function readsEnvironment(text: string, environment: Variables): boolean {
  return variablesIn(text).some((name) => findVariable(name, environment) !== undefined);
}

const secretName = /TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|KEY/i;
