import { type Command, Option } from 'commander';
import { STATUSES } from '../../domain/request/types.js';
import type { Bind } from '../command.js';
import { outputOption, resultFormatOption, timeoutOption, wholeNumber } from './values.js';

export function defineRequest(program: Command, bind: Bind): void {
  const request = program.command('request').description('requests: list, show, decide, run');
  const list = request
    .command('list')
    .description('the requests you may see, newest first')
    .addOption(new Option('--status <status>', 'only these').choices([...STATUSES]))
    .option('--user <id>', 'of this requester')
    .option('--pending-for-me', 'that you can approve now')
    .option('--limit <n>', 'how many', wholeNumber)
    .option('--offset <n>', 'how many to skip', wholeNumber);
  bind(list, async () => (await import('../commands/request-list.js')).listRequests);
  const show = request.command('show').description('everything about one request').argument('<id>', idHelp);
  bind(show, async () => (await import('../commands/request-show.js')).showRequest);
  defineDecisions(request, bind);
  defineRuns(request, bind);
  defineResults(request, bind);
}

const idHelp = 'request id, or at least 4 characters of its beginning';

function defineDecisions(request: Command, bind: Bind): void {
  const approve = request
    .command('approve')
    .description('approve the current step')
    .argument('<id>', idHelp)
    .option('--comment <text>', 'kept with the approval')
    .option('--as <selector>', 'as whom, when several fit: group:dba-team');
  bind(approve, async () => (await import('../commands/request-decide.js')).approveRequest);
  const reject = request
    .command('reject')
    .description('reject it for good')
    .argument('<id>', idHelp)
    .option('--comment <text>', 'kept with the rejection');
  bind(reject, async () => (await import('../commands/request-decide.js')).rejectRequest);
  const cancel = request
    .command('cancel')
    .description('cancel it, also while it runs')
    .argument('<id>', idHelp)
    .option('--reason <text>', 'kept with the request');
  bind(cancel, async () => (await import('../commands/request-decide.js')).cancelRequest);
}

function defineRuns(request: Command, bind: Bind): void {
  const wait = request
    .command('wait')
    .description('wait for its end and show the result')
    .argument('<id>', idHelp)
    .addOption(timeoutOption())
    .option('--resume', 'run it once it is approved')
    .addOption(outputOption())
    .addOption(resultFormatOption());
  bind(wait, async () => (await import('../commands/request-run.js')).waitForRequest);
  const resume = request
    .command('resume')
    .description('run an approved request and show the result')
    .argument('<id>', idHelp)
    .option('--reason <text>', 'kept in the audit log')
    .addOption(timeoutOption())
    .addOption(outputOption())
    .addOption(resultFormatOption());
  bind(resume, async () => (await import('../commands/request-run.js')).resumeRequest);
}

function defineResults(request: Command, bind: Bind): void {
  const result = request
    .command('result')
    .description('the stored result')
    .argument('<id>', idHelp)
    .option('--execution <id>', 'of this run instead of the latest')
    .option('--list', 'list the runs instead')
    .option('--limit <n>', 'with --list: how many', wholeNumber)
    .addOption(outputOption())
    .addOption(resultFormatOption());
  bind(result, async () => (await import('../commands/request-run.js')).requestResult);
  const results = request
    .command('results')
    .description('the stored results you may read, newest first')
    .option('--limit <n>', 'how many', wholeNumber);
  bind(results, async () => (await import('../commands/request-results.js')).listResults);
  const executions = request
    .command('executions')
    .description('its runs, newest first')
    .argument('<id>', idHelp)
    .option('--limit <n>', 'how many', wholeNumber);
  bind(executions, async () => (await import('../commands/request-run.js')).requestExecutions);
}
