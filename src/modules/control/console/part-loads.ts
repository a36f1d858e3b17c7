export interface QuotaLoad {
  readonly name: string;
  readonly passed: number;
  readonly refused: number;
  readonly failed: number;
}

/** A certificate that servers show, in the overview. */
export interface CertificateState {
  /** The file as written, or the id of one that gw orders. */
  readonly name: string;
  /** Of one that gw orders. */
  readonly issuer?: string | undefined;
  readonly state: 'valid' | 'expired' | 'missing';
  readonly notAfterMs?: number | undefined;
  readonly isOrdered?: boolean | undefined;
  /** When the next order is due; 0: unknown. */
  readonly nextMs?: number | undefined;
  readonly failures?: number | undefined;
  /** Why the last order failed. */
  readonly fault?: string | undefined;
}
