import type { Live } from './live.ts';

/** One page of the console, as long as it is looked at. */
export interface View {
  readonly title: string;
  readonly element: HTMLElement;
}

/** What a page is opened with. */
export interface ViewScope {
  readonly live: Live;
  /** Ends when the page is left. */
  readonly signal: AbortSignal;
}

export type OpenView = (scope: ViewScope) => View;
