import type { NamedAddress, WrittenFiles } from '../../contract/index.ts';
import type { Account } from '../../system/index.ts';

/** What the process with root's rights does for one configuration, and nothing beyond it. */
export interface Holdings {
  readonly account: Account;
  readonly addresses: readonly NamedAddress[];
  readonly written: Required<WrittenFiles>;
  /** Absolute. */
  readonly pidFile: string;
}

/**
 * From the process that serves to the one that stayed root, as JSON: the other form of messages, V8's, is not safe to read when
 * the sender may be hostile. Each question is answered under its number.
 */
export type ToKeeper =
  /** What the process loaded while it still was root; later ones are ignored. */
  | { readonly type: 'grant'; readonly holdings: Holdings; readonly candidate: string }
  | (KeeperQuestion & { readonly question: number });

export type KeeperQuestion =
  | { readonly type: 'load' }
  /** The configuration that was loaded last serves. */
  | { readonly type: 'accepted' }
  /** The configuration that was loaded last will not serve. */
  | { readonly type: 'refused' }
  | { readonly type: 'findings' }
  | { readonly type: 'socket'; readonly key: string }
  /** Log files were rotated. */
  | { readonly type: 'reopen' }
  /** Every port accepts. */
  | { readonly type: 'serving' }
  /** Nobody should come any more: as long as a socket is open here, clients would wait for an answer. */
  | { readonly type: 'leave' };

/** What a question is answered with; a `socket` comes with a handle, unless it has an error (negative, as libuv's). */
export type KeeperAnswer =
  /** The candidate, packed by root's loader and unpacked by who serves: the keeper passes it on unread. */
  | { readonly type: 'loaded'; readonly candidate: string }
  | { readonly type: 'findings'; readonly lines: readonly string[] }
  | { readonly type: 'socket'; readonly errno?: number }
  | { readonly type: 'done' }
  | { readonly type: 'failed'; readonly reason: string };

export type FromKeeper = KeeperAnswer & { readonly question: number };

/** What the loader, a process of root's that lives for one question, is asked and says. */
export type LoaderQuestion =
  /** `account` serves already: another `user` needs a restart. */
  | { readonly wants: 'candidate'; readonly source: string; readonly account: Account }
  | { readonly wants: 'findings'; readonly source: string }
  | { readonly wants: 'handover'; readonly holdings: Holdings };

export type FromLoader =
  | { readonly type: 'candidate'; readonly candidate: string; readonly holdings: Holdings | undefined }
  | { readonly type: 'done' }
  | { readonly type: 'findings'; readonly lines: readonly string[] }
  | { readonly type: 'failed'; readonly reason: string };
