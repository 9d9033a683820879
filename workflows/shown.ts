import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import { CancellationScope, setCurrentDetails, upsertSearchAttributes, workflowInfo } from '@temporalio/workflow';
import { describe } from './known.js';
import { type KnownView, keywordOf } from './messages.js';

const statusKey = defineSearchAttributeKey('SvcStatus', SearchAttributeType.KEYWORD);
const turnKey = defineSearchAttributeKey('SvcTurn', SearchAttributeType.KEYWORD);

/**
 * Shows the request in the Temporal UI: details and search attributes. A run that was started without those attributes never sets them, because a server
 * that does not know them would refuse its tasks for ever.
 */
export function createShown(): (view: KnownView) => void {
  const attributes = workflowInfo().typedSearchAttributes;
  let shown = attributes.get(statusKey);
  let turn = attributes.get(turnKey);
  let cancelled = false;
  let last: KnownView | undefined;
  const detail = () => last !== undefined && setCurrentDetails(describe(last, cancelled));
  // Rejects when somebody asks Temporal to cancel the run.
  CancellationScope.current().cancelRequested.catch(() => {
    cancelled = true;
    detail();
  });
  return (view) => {
    last = view;
    detail();
    const [nextStatus, nextTurn] = [keywordOf(view.status), keywordOf(view.turn)];
    if (shown === undefined || (shown === nextStatus && turn === nextTurn)) return;
    shown = nextStatus;
    turn = nextTurn;
    upsertSearchAttributes([
      { key: statusKey, value: shown },
      { key: turnKey, value: turn },
    ]);
  };
}
