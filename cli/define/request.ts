import { type Command, Option } from 'commander';
import { STATUSES } from '../../domain/request/types.js';
import type { Bind } from '../command.js';
import { outputOption, resultFormatOption, timeoutOption, wholeNumber } from './values.js';

export function defineRequest(program: Command, bind: Bind): void {
  const request = program.command('request').description('list, show, approve, reject, cancel and run requests');
  const list = request
    .command('list')
    .description('list the requests that you can see, newest first')
    .addOption(new Option('--status <status>', 'only this status').choices([...STATUSES]))
    .option('--user <id>', 'only requests of this user')
    .option('--pending-for-me', 'only requests that you can approve now')
    .option('--decided-by-me', 'only requests that you approved or rejected')
    .option('--limit <n>', 'how many to show, at most 100 (default: 50)', wholeNumber)
    .option('--offset <n>', 'how many to skip', wholeNumber);
  bind(list, async () => (await import('../commands/request-list.js')).listRequests);
  defineSights(request, bind);
  defineDecisions(request, bind);
  defineRuns(request, bind);
  defineResults(request, bind);
}

const idHelp = 'request id, or its first characters (at least 4)';
const actedIdHelp = 'request id, or its first characters (at least 8)';

function defineDecisions(request: Command, bind: Bind): void {
  const approve = request
    .command('approve')
    .description('show a request, then approve its current step')
    .argument('<id>', actedIdHelp)
    .option('--comment <text>', 'comment to store with the approval')
    .option('--as <selector>', 'which of your roles or groups approves, such as group:dba-team');
  bind(approve, async () => (await import('../commands/request-decide.js')).approveRequest);
  const reject = request
    .command('reject')
    .description('show a request, then reject it for good')
    .argument('<id>', actedIdHelp)
    .option('--comment <text>', 'comment to store with the rejection');
  bind(reject, async () => (await import('../commands/request-decide.js')).rejectRequest);
  const cancel = request
    .command('cancel')
    .description('cancel a request, even while it runs')
    .argument('<id>', actedIdHelp)
    .option('--reason <text>', 'reason to store with the request');
  bind(cancel, async () => (await import('../commands/request-decide.js')).cancelRequest);
}

function defineRuns(request: Command, bind: Bind): void {
  const wait = request
    .command('wait')
    .description('wait until a request ends, then show the result')
    .argument('<id>', 'request id, or its first characters (at least 4; 8 with --resume)')
    .addOption(timeoutOption())
    .option('--resume', 'run it as soon as it is approved')
    .addOption(outputOption())
    .addOption(resultFormatOption());
  bind(wait, async () => (await import('../commands/request-run.js')).waitForRequest);
  const resume = request
    .command('resume')
    .description('run an approved request, then show the result')
    .argument('<id>', actedIdHelp)
    .option('--reason <text>', 'reason to store in the audit log')
    .addOption(timeoutOption())
    .addOption(outputOption())
    .addOption(resultFormatOption());
  bind(resume, async () => (await import('../commands/request-run.js')).resumeRequest);
}

function defineSights(request: Command, bind: Bind): void {
  const show = request
    .command('show')
    .description('show everything about a request')
    .argument('<id>', idHelp)
    .option('--full', 'also show the SQL of migrations that are already applied');
  bind(show, async () => (await import('../commands/request-show.js')).showRequest);
  const watch = request
    .command('watch')
    .description('follow a request until it ends, without changing it')
    .argument('<id>', idHelp)
    .addOption(timeoutOption());
  bind(watch, async () => (await import('../commands/request-watch.js')).watchRequest);
  const open = request
    .command('open')
    .description("open a request's page in the browser, and print its address")
    .argument('<id>', idHelp);
  bind(open, async () => (await import('../commands/request-open.js')).openRequest);
}

function defineResults(request: Command, bind: Bind): void {
  const result = request
    .command('result')
    .description('show the stored result')
    .argument('<id>', idHelp)
    .option('--execution <id>', 'show this run instead of the latest')
    .option('--list', 'list the runs instead')
    .option('--limit <n>', 'with --list: how many to show, at most 100 (default: 20)', wholeNumber)
    .addOption(outputOption())
    .addOption(resultFormatOption());
  bind(result, async () => (await import('../commands/request-run.js')).requestResult);
  const results = request
    .command('results')
    .description('list the stored results that you can read, newest first')
    .option('--limit <n>', 'how many to show, at most 100 (default: 50)', wholeNumber);
  bind(results, async () => (await import('../commands/request-results.js')).listResults);
  const executions = request
    .command('executions')
    .description('list the runs of a request, newest first')
    .argument('<id>', idHelp)
    .option('--limit <n>', 'how many to show, at most 100 (default: 20)', wholeNumber);
  bind(executions, async () => (await import('../commands/request-run.js')).requestExecutions);
}
