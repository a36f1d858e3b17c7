import { AcmeFault, type AcmeClient } from '../protocol/index.ts';
import { postponePoll, rememberWindow, type RenewalWindow } from './schedule.ts';

/** The authority could not be asked for a renewal window. */
const POLL_AGAIN_MS = 3_600_000;

interface Poll {
  /** Opens the account. */
  readonly open: () => Promise<{ readonly client: AcmeClient }>;
  readonly before: RenewalWindow | undefined;
  /** The certificate in the form of RFC 9773, 4.1. */
  readonly certificate: string;
}

interface Polled {
  readonly window: RenewalWindow;
  /** Why the authority could not be asked. */
  readonly fault?: string;
  /** The authority wants the certificate renewed now; '' or where it says why. */
  readonly moved?: string;
}

/** Asks an authority when a certificate is to be renewed. Never rejects. */
export async function pollWindow({ open, before, certificate }: Poll): Promise<Polled> {
  try {
    const { client } = await open();
    const { renewalInfo } = await client.directory();
    if (renewalInfo === undefined)
      return { window: postponePoll(before, { certificate, nowMs: Date.now() }) };
    const { explanationUrl = '', ...told } = await client.renewalInfo(certificate);
    const drawn = { nowMs: Date.now(), random: Math.random() };
    const window = rememberWindow(before, { ...told, certificate }, drawn);
    const { chosen } = window;
    const isMoved = chosen && chosen.atMs !== before?.chosen?.atMs && chosen.atMs <= Date.now();
    return { window, ...(isMoved && { moved: explanationUrl }) };
  } catch (error) {
    const { retryAfterMs: waitMs = POLL_AGAIN_MS } = causeOf(error as Error) ?? {};
    const window = postponePoll(before, { certificate, nowMs: Date.now(), waitMs });
    return { window, fault: (error as Error).message };
  }
}

/** What the authority has said. */
export function causeOf(error: Error): AcmeFault | undefined {
  if (error instanceof AcmeFault) return error;
  return error.cause instanceof AcmeFault ? error.cause : undefined;
}
