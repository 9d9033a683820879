import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { Loaded } from '../state/loaded.js';
import { pageTitle } from '../state/title.js';
import { Problem } from './problem.js';

interface PageProps {
  title: string;
  /** Beside the title: what can be done here. */
  actions?: ComponentChildren;
  lead?: ComponentChildren;
  children: ComponentChildren;
}

/** A page with its title, which the window has too and which gets the focus when the page is new. */
export function Page({ title, actions, lead, children }: PageProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    pageTitle.value = title;
  }, [title]);
  useEffect(() => heading.current?.focus({ preventScroll: true }), []);
  return (
    <>
      <header class="page-head">
        <div>
          <h1 ref={heading} tabIndex={-1}>
            {title}
          </h1>
          {lead !== undefined && <p class="quiet">{lead}</p>}
        </div>
        {actions !== undefined && <div class="actions">{actions}</div>}
      </header>
      {children}
    </>
  );
}

/** What was loaded, once it is there; before that that it is loading, or why it is not there. */
export function Show<Value>({ of, children }: { of: Loaded<Value>; children: (value: Value) => ComponentChildren }) {
  return (
    <>
      <Problem error={of.error} />
      {of.value !== undefined && children(of.value)}
      {of.value === undefined && of.isLoading && (
        <p class="empty" role="status">
          Loading …
        </p>
      )}
    </>
  );
}
