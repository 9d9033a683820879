import { z } from 'zod';
import { maxBodyBytes } from '../http/body.js';
import { named, text } from '../http/fields.js';
import { operationsByName, pairName } from '../http/names.js';

const count = (about: string) => z.number().int().min(0).meta({ description: about });
/** The range of the agent record's integer columns. */
const load = (about: string) => z.number().int().min(0).max(2_147_483_647).meta({ description: about });
const maxScopes = 1000;
export const maxJobs = 20;
export const maxExplains = 10;
export const maxWaitMs = 30_000;

/** Ignores unknown names. A list with only unknown names must match nothing, so it becomes a name that no request has. */
const operations = z.array(text('The name of an operation.', { maxLength: maxBodyBytes })).transform((names) => {
  const understood = [...new Set(names.flatMap((name) => operationsByName.get(name) ?? []))];
  return names.length > 0 && understood.length === 0 ? ['none'] : understood;
});

const scope = named('AgentScope', 'A database in one environment that the agent serves.', {
  database: pairName('The name of the database.'),
  environment: pairName('The environment.'),
  marker: z.boolean().default(false).meta({ description: 'Whether the agent can write marker rows there.' }),
});

const scopes = z
  .array(scope)
  .max(maxScopes)
  .transform((list) => [...new Map(list.map((scope) => [`${scope.database}/${scope.environment}`, scope])).values()]);

const activeJob = z.object({
  request_id: z.string().max(64).meta({ description: 'The request.' }),
  operation: z.string().max(64).meta({ description: 'Its operation.' }),
  elapsed_secs: z.number().optional().meta({ description: 'For how many seconds it has run.' }),
});

/** The body of `POST /api/agent/poll` (agent.md section 3). */
export const pollBody = z
  .object({
    capabilities: z
      .object({
        scopes: scopes.meta({ description: 'What the agent serves.' }),
        operations: operations.default([]).meta({ description: 'What it runs; empty = all. Unknown names are ignored.' }),
        features: z
          .array(z.string().max(64).meta({ description: 'The name of a feature.' }))
          .max(32)
          .default([])
          .meta({ description: 'What it can do besides the basic protocol, such as `fence`.' }),
      })
      .meta({ description: 'What the agent can do.' }),
    limit: count(`Free slots for jobs. Values above ${maxJobs} are treated as ${maxJobs}.`).default(10),
    explain_limit: count(`Free slots for plans. Values above ${maxExplains} are treated as ${maxExplains}.`).default(10),
    wait_ms: count(`How long to wait for work, in milliseconds. Values above ${maxWaitMs} are treated as ${maxWaitMs}.`).default(
      0,
    ),
    claim: z
      .boolean()
      .default(false)
      .meta({ description: 'Claims what is found at once, instead of offering it. Needs `instance_id`.' }),
    holding: z
      .array(z.guid().meta({ description: 'The id of an execution.' }))
      .max(1000)
      .default([])
      .meta({ description: 'The executions that this instance runs.' }),
    status: z
      .object({
        in_flight: load('How many jobs it runs.'),
        max_concurrent: load('How many it runs at once at most.'),
        in_flight_preflight: load('How many plans of preflights it makes.').default(0),
        draining: z.boolean().default(false).meta({ description: 'Whether it is stopping, and takes no more work.' }),
        uptime_secs: count('For how many seconds it has run.').default(0),
        active_jobs: z
          .array(activeJob)
          .default([])
          .transform((jobs) => jobs.slice(0, 100))
          .meta({ description: 'What it runs; of more than 100 the first are kept.' }),
      })
      .nullish()
      .meta({ description: 'How busy it is.' }),
    agent_version: z.string().max(256).nullish().meta({ description: 'The version of the agent.' }),
    instance_id: z.string().max(256).nullish().meta({ description: 'A new UUID for each start of the agent.' }),
  })
  .refine(({ claim, instance_id: instanceId }) => !claim || instanceId != null, {
    path: ['instance_id'],
    message: 'is required with claim',
  })
  .meta({ id: 'AgentPoll', description: 'What an agent reports, and what it asks for.' });
