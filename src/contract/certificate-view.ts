import type { Counters, Metric } from '../zone/index.ts';

/** A certificate that servers show, for status pages; times in ms since the epoch. */
export interface CertificateView {
  /** The file as written, or the id of one that gw orders. */
  readonly name: string;
  /** Of one that gw orders. */
  readonly issuer?: string | undefined;
  /** `missing`: there is none yet, and handshakes are refused. */
  readonly state: 'valid' | 'expired' | 'missing';
  readonly notAfterMs?: number | undefined;
  /** It is being ordered. */
  readonly isOrdered?: boolean | undefined;
  /** When the next order is due; 0: unknown. */
  readonly nextMs?: number | undefined;
  /** Orders that have failed since the last one that did not, and why the last one did. */
  readonly failures?: number | undefined;
  readonly fault?: string | undefined;
}

interface ShownCertificates {
  /** Those with metrics; their names are in the configuration. */
  readonly names: readonly string[];
  all(): readonly CertificateView[];
  of(name: string): CertificateView | undefined;
}

/** The worker that shows them. */
interface ShowingWorker {
  addCertificates(source: () => readonly CertificateView[]): void;
  own<T>(resource: T, close: (resource: T) => void): T;
  readonly metrics: Counters;
}

const EXPIRY: Metric = {
  name: 'gw_certificate_expiry_seconds',
  help: 'Time until a certificate that servers show ends, in seconds; negative: since then; 0: there is none.',
};

/** Shows certificates on status pages and in metrics, as long as the configuration of `worker` is open. */
export function showCertificates(worker: ShowingWorker, { names, all, of }: ShownCertificates): void {
  worker.addCertificates(all);
  for (const name of names) {
    const read = (): number => {
      const { notAfterMs } = of(name) ?? {};
      return notAfterMs === undefined ? 0 : (notAfterMs - Date.now()) / 1_000;
    };
    worker.own(worker.metrics.collect('gauge', { metric: EXPIRY, labels: { name }, read }), (end) => end());
  }
}
