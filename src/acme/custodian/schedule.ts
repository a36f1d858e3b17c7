const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** The pauses after the first failures; after more of them, a day. */
const PAUSES: readonly number[] = [MINUTE, 10 * MINUTE, 100 * MINUTE];
/** Certificates with a shorter life are renewed when half of it is over (instead of two thirds). */
const SHORT_LIFE_MS = 10 * DAY;
/** The part of the life by which the time of renewal differs between certificates, in both directions. */
const SPREAD = 0.02;
/** Whatever an authority says, a certificate is renewed when this part of its life is left. */
const LAST_PART = 0.05;
/** The time between two questions about a renewal window: by `Retry-After`, within these bounds. */
const USUAL_POLL_MS = 6 * HOUR;
const SHORTEST_POLL_MS = MINUTE;
/** From here on, what goes wrong is an error. */
const URGENT_MS = 7 * DAY;

/** What the schedule needs to know of a certificate; times in ms since the epoch. */
interface CertificateTimes {
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
  /** Hexadecimal; equal certificates are renewed at the same time. */
  readonly fingerprint: string;
}

/** The renewal window that an authority has told (RFC 9773), and the time in it that was chosen at random. */
export interface RenewalWindow {
  /** The certificate in the form of RFC 9773, 4.1. */
  readonly certificate: string;
  /** Absent: the authority tells no window, or a malformed one. */
  readonly chosen?: { readonly startMs: number; readonly endMs: number; readonly atMs: number };
  /** When the authority is asked again. */
  readonly nextPollMs: number;
}

/** What is remembered of the orders of a certificate, across restarts. */
export interface Attempts {
  /** Failed orders since the last certificate. */
  readonly failures: number;
  /** Of the last failure, in ms since the epoch. */
  readonly failedMs: number;
  /** What the authority has asked to wait after the last failure; 0: nothing. */
  readonly waitMs: number;
  /** Of the last failure: one line. */
  readonly fault: string;
  /** An operator has asked for a new certificate, or the present one is revoked. */
  readonly isWanted: boolean;
}

export const NO_ATTEMPTS: Attempts = { failures: 0, failedMs: 0, waitMs: 0, fault: '', isWanted: false };

/** When an issuer's certificates are renewed: what an operator has set counts before what the authority says. */
interface RenewalRules {
  readonly renewBeforeMs?: number | undefined;
  /** The window of this certificate. */
  readonly window?: RenewalWindow['chosen'];
}

/** Returns when a certificate is renewed, in ms since the epoch. */
export function renewalMs(
  { notBeforeMs, notAfterMs, fingerprint }: CertificateTimes,
  { renewBeforeMs, window }: RenewalRules = {},
): number {
  const lifeMs = Math.max(0, notAfterMs - notBeforeMs);
  // A certificate with a shorter life than that would be renewed all the time.
  if (renewBeforeMs !== undefined) return Math.max(notAfterMs - renewBeforeMs, notBeforeMs + lifeMs / 2);
  if (window) return Math.min(window.atMs, notAfterMs - LAST_PART * lifeMs);
  const part = lifeMs < SHORT_LIFE_MS ? 1 / 2 : 2 / 3;
  return notBeforeMs + lifeMs * (part + SPREAD * deviationOf(fingerprint));
}

/** A number from -1 to 1 that is the same after each restart. */
function deviationOf(fingerprint: string): number {
  const number = Number.parseInt(fingerprint.replaceAll(':', '').slice(0, 8), 16);
  return Number.isNaN(number) ? 0 : (number / 0xffff_ffff) * 2 - 1;
}

/**
 * Returns when the next order is due, in ms since the epoch; a time that is over: now. `renewsMs`: when the certificate
 * is renewed; `undefined`: there is none. A failure that seems to come is one before the clock was set back.
 */
export function nextOrderMs(attempts: Attempts, renewsMs: number | undefined, nowMs: number): number {
  const wantedMs = renewsMs === undefined || attempts.isWanted ? 0 : renewsMs;
  return Math.max(wantedMs, pausedUntilMs(attempts, nowMs));
}

/** Returns until when failures forbid another order; 0: there were none. */
function pausedUntilMs({ failures, failedMs, waitMs }: Attempts, nowMs: number): number {
  if (failures === 0) return 0;
  const pauseMs = Math.max(PAUSES[failures - 1] ?? DAY, waitMs);
  return Math.min(failedMs, nowMs) + Math.min(pauseMs, DAY);
}

/** Until when an authority is asked for nothing new; times in ms since the epoch. */
export interface OrderPause {
  /** The URL of its directory. */
  readonly authority: string;
  readonly untilMs: number;
  /** What the authority has said: one line. */
  readonly fault: string;
  /** Pauses since it has taken an order. */
  readonly count: number;
}

/**
 * Returns the pause after an authority was asked for too much. Where it says for how long, it is obeyed within bounds: its
 * limit may concern one certificate, and the others must not wait for that one. Without an account, nothing can be ordered.
 */
export function pauseAfter(
  { authority, count }: Pick<OrderPause, 'authority' | 'count'>,
  {
    fault,
    waitMs,
    concerns,
  }: { fault: string; waitMs: number | undefined; concerns: 'an order' | 'the account' },
  nowMs: number,
): OrderPause {
  const longestMs = concerns === 'an order' ? HOUR : DAY;
  const pauseMs = waitMs === undefined ? (PAUSES[count] ?? DAY) : Math.max(waitMs, MINUTE);
  return { authority, untilMs: nowMs + Math.min(pauseMs, longestMs), fault, count: count + 1 };
}

/** One that ends later than any pause was begun by another clock. */
export function isPauseOn({ untilMs }: OrderPause, nowMs: number): boolean {
  return nowMs < untilMs && untilMs <= nowMs + DAY;
}

/** Returns the attempts after another failure; `waitMs`: what the authority has asked to wait. */
export function afterFailure(
  attempts: Attempts,
  { fault, waitMs = 0, nowMs }: { fault: string; waitMs?: number | undefined; nowMs: number },
): Attempts {
  return {
    ...attempts,
    failures: attempts.failures + 1,
    failedMs: nowMs,
    waitMs: Math.max(0, waitMs),
    fault,
  };
}

/** A certificate is followed by another one too soon if less than this part of its life is over. */
const SOON_PART = 1 / 4;

/**
 * Certificates that are to be renewed again as soon as they are there: an authority may tell windows that are over, or
 * sign for minutes. The first one is renewed at once, those that follow after the pauses of failures, in time all the same.
 */
export class Haste {
  #tookMs: number | undefined;
  /** Certificates in a row that came too soon after the one before. */
  #count = 0;

  /** A new certificate serves from now on. */
  took({ notBeforeMs, notAfterMs }: CertificateTimes, nowMs: number): void {
    const soonMs = Math.min(DAY, SOON_PART * (notAfterMs - notBeforeMs));
    const isSoon = this.#tookMs !== undefined && Math.abs(nowMs - this.#tookMs) < soonMs;
    this.#count = isSoon ? this.#count + 1 : 0;
    this.#tookMs = nowMs;
  }

  /** Returns before when the certificate is not renewed, in ms since the epoch. */
  notBeforeMs({ notAfterMs }: CertificateTimes, nowMs: number): number {
    if (this.#tookMs === undefined || this.#count === 0) return 0;
    const pauseMs = PAUSES[this.#count - 1] ?? DAY;
    const tookMs = Math.min(this.#tookMs, nowMs);
    return tookMs + Math.min(pauseMs, Math.max(0, notAfterMs - tookMs) / 2);
  }
}

/** A renewal window as an authority tells it (RFC 9773, 4.2). */
interface ToldWindow {
  readonly startMs: number;
  readonly endMs: number;
  readonly retryAfterMs?: number | undefined;
}

/**
 * Returns what is remembered of a window that was told now. A time in it is chosen at random (`random`: from 0 to 1), once
 * as long as the window stays the same.
 */
export function rememberWindow(
  before: RenewalWindow | undefined,
  told: ToldWindow & { readonly certificate: string },
  { nowMs, random }: { nowMs: number; random: number },
): RenewalWindow {
  const { certificate, startMs, endMs, retryAfterMs } = told;
  const nextPollMs = nowMs + pollPauseMs(retryAfterMs);
  // A window that ends before it begins counts as none (RFC 9773, 4.2).
  if (!(endMs > startMs)) return { certificate, nextPollMs };
  const { chosen } = before?.certificate === certificate ? before : {};
  const isSame = chosen?.startMs === startMs && chosen.endMs === endMs;
  if (isSame) return { certificate, nextPollMs, chosen };
  return { certificate, nextPollMs, chosen: { startMs, endMs, atMs: startMs + random * (endMs - startMs) } };
}

/** Returns what is remembered when the authority could not be asked: the former window still counts. */
export function postponePoll(
  before: RenewalWindow | undefined,
  { certificate, nowMs, waitMs }: { certificate: string; nowMs: number; waitMs?: number | undefined },
): RenewalWindow {
  const { chosen } = before?.certificate === certificate ? before : {};
  return { certificate, nextPollMs: nowMs + pollPauseMs(waitMs), ...(chosen && { chosen }) };
}

function pollPauseMs(waitMs = USUAL_POLL_MS): number {
  return Math.min(Math.max(waitMs, SHORTEST_POLL_MS), DAY);
}

/** Returns whether the authority is to be asked for the window of a certificate. A time that is too far away was chosen by another clock. */
export function isPollDue(window: RenewalWindow | undefined, certificate: string, nowMs: number): boolean {
  if (window?.certificate !== certificate) return true;
  return nowMs >= window.nextPollMs || window.nextPollMs > nowMs + DAY;
}

/** Returns whether what goes wrong needs somebody soon: nothing serves, or not for long. */
export function isUrgent(notAfterMs: number | undefined, nowMs: number): boolean {
  return notAfterMs === undefined || notAfterMs - nowMs < URGENT_MS;
}
