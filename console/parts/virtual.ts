import {
  elementScroll,
  observeElementOffset,
  observeElementRect,
  Virtualizer,
  type VirtualizerOptions,
} from '@tanstack/virtual-core';
import { useLayoutEffect, useReducer, useState } from 'preact/hooks';

type Options = Pick<
  VirtualizerOptions<HTMLElement, HTMLElement>,
  'count' | 'getScrollElement' | 'estimateSize' | 'horizontal' | 'overscan'
>;

/** The part of a long list that is in sight; renders again when that changes. */
export function useVirtual(options: Options): Virtualizer<HTMLElement, HTMLElement> {
  const [, renderAgain] = useReducer((round: number) => round + 1, 0);
  const whole = {
    scrollToFn: elementScroll,
    observeElementRect,
    observeElementOffset,
    onChange: () => renderAgain(undefined as never),
    ...options,
  };
  const [virtual] = useState(() => new Virtualizer<HTMLElement, HTMLElement>(whole));
  virtual.setOptions(whole);
  useLayoutEffect(() => virtual._didMount(), []);
  useLayoutEffect(() => virtual._willUpdate());
  return virtual;
}
