import { visible } from '../../lib/visible.js';
import type { Context } from '../context.js';
import { renderDetails } from '../output/details.js';
import { type Answer, listAnswer } from '../output/output.js';

/** `svc group list`: one name per line. */
export async function listGroups(context: Context): Promise<Answer> {
  const reply = await context.client().call({ method: 'GET', path: ['api', 'groups'] });
  const groups = reply.json().get('groups')?.items() ?? [];
  return listAnswer(reply.text, groups.length, 'groups', () =>
    groups.map((name) => `${visible(name.string() ?? '')}\n`).join(''),
  );
}

export async function showGroup(context: Context, args: readonly string[]): Promise<Answer> {
  const reply = await context.client().call({ method: 'GET', path: ['api', 'groups', args[0]!] });
  const rows = [
    ['group', 'name'],
    ['roles', 'roles'],
    ['members', 'members'],
  ] as const;
  const answer = reply.json();
  const isEmpty = answer.get('members')?.items().length === 0;
  return {
    data: reply.text,
    human: () => renderDetails(answer, rows, context.output.style),
    ...(isEmpty ? { note: 'no members' } : {}),
  };
}
