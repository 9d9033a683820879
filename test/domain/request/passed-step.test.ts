import { describe, expect, it } from 'vitest';
import { passedSelectors } from '../../../domain/request/passed-step.js';
import { approval, requestIn, steps, storedRequest, workflowSnapshot } from '../../support/stored-request.js';

const policy = workflowSnapshot({ steps: steps('group:first', 'group:second', 'group:third') });
const second = storedRequest({ policy, currentStep: 1, decisions: [approval(0, 'dora', 'group:first')] });
const pendingAt = (currentStep: number) => ({ status: 'pending', currentStep }) as const;

describe('who may have seen a request until now (CO-20)', () => {
  it('are those of the step that it has left', () => {
    expect(passedSelectors(pendingAt(0), second)).toEqual(['group:first']);
    expect(passedSelectors(pendingAt(1), requestIn('cancelled', { policy, currentStep: 1 }))).toEqual(['group:second']);
  });

  it('are nobody while it waits at the same step, or did not wait before', () => {
    expect(passedSelectors(pendingAt(1), second)).toEqual([]);
    expect(passedSelectors({ status: 'approved', currentStep: 3 }, requestIn('dispatched', { policy, currentStep: 3 }))).toEqual(
      [],
    );
  });

  it('where it is not known what it was are those of every step that it may have left', () => {
    expect(passedSelectors(undefined, second)).toEqual(['group:first']);
    expect(passedSelectors(undefined, requestIn('rejected', { policy, currentStep: 1 }))).toEqual([
      'group:first',
      'group:second',
    ]);
    expect(passedSelectors(undefined, requestIn('running', { policy, currentStep: 3 }))).toEqual([]);
    expect(passedSelectors(undefined, storedRequest({ policy: null }))).toEqual([]);
  });
});
