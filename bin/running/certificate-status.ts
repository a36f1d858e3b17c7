import { duration, visible } from '../terminal.ts';
import { callControl, type ControlTarget } from './control-client.ts';
import type { MetricSamples } from './metrics-text.ts';

/** A certificate that servers show. */
export interface CertificateStatus {
  readonly name: string;
  /** Negative: it has expired so long ago; absent: there is none. */
  readonly expiresInSeconds?: number;
  /** Of one that gw orders: orders that have failed since the last one that did not. */
  readonly failedOrders?: number;
  /** It is being ordered. The rest is known if a location serves `certificates`. */
  readonly ordering?: boolean;
  /** In ISO 8601. */
  readonly nextOrder?: string;
  /** Why the last order failed. */
  readonly fault?: string;
}

/** A certificate that gw orders, as `control_api certificates` shows it; times in ISO 8601. */
export interface OrderedCertificate {
  readonly name: string;
  readonly not_after: string | null;
  readonly ordering: boolean;
  readonly next_order: string | null;
  readonly failures: number;
  readonly fault: string | null;
}

/** Asks what is known of orders: nothing if the gateway, or an older one at the address, does not tell. */
export async function askOrders(orders: ControlTarget | string): Promise<readonly OrderedCertificate[]> {
  if (typeof orders === 'string') return [];
  const { status: code, body } = await callControl(orders);
  if (code !== 200) return [];
  const { certificates } = JSON.parse(body) as {
    certificates: readonly (OrderedCertificate | { readonly issuer?: undefined })[];
  };
  return certificates.filter((one): one is OrderedCertificate => 'ordering' in one);
}

/** Returns the certificates with metrics, then those on demand whose orders fail. */
export function certificatesOf(
  readings: MetricSamples,
  ordered: readonly OrderedCertificate[],
  nowMs: number,
): readonly CertificateStatus[] {
  const orders = new Map(ordered.map((one) => [one.name, one]));
  const failed = new Map(
    readings.all('gw_acme_failed_orders').map(({ labels, value }) => [labels['name'], value]),
  );
  const counted = readings.all('gw_certificate_expiry_seconds').map(({ labels, value }) => {
    const { name = '' } = labels;
    const failedOrders = failed.get(name);
    const order = orders.get(name);
    orders.delete(name);
    return {
      name,
      ...(value !== 0 && { expiresInSeconds: value }),
      ...(failedOrders !== undefined && { failedOrders }),
      ...(order && orderOf(order)),
    };
  });
  const others = [...orders.values()].flatMap((order) => {
    const { name, not_after: end, failures, fault } = order;
    if (end === null || fault === null) return [];
    const expiresInSeconds = (Date.parse(end) - nowMs) / 1000;
    return [{ name, expiresInSeconds, failedOrders: failures, ...orderOf(order) }];
  });
  return [...counted, ...others];
}

function orderOf({
  ordering,
  next_order: next,
  fault,
}: OrderedCertificate): Pick<CertificateStatus, 'ordering' | 'nextOrder' | 'fault'> {
  return { ordering, ...(next !== null && { nextOrder: next }), ...(fault !== null && { fault }) };
}

/** Returns the cells of all certificates below their heading. */
export function certificateRows(certificates: readonly CertificateStatus[]): readonly (readonly string[])[] {
  return [
    ['CERTIFICATE', 'EXPIRES', 'FAILED ORDERS', 'NEXT ORDER', 'LAST FAULT'],
    ...certificates.map((one) => [
      one.name,
      expiryText(one.expiresInSeconds),
      one.failedOrders === undefined ? '-' : String(one.failedOrders),
      nextOrderText(one),
      one.fault === undefined ? '-' : visible(one.fault),
    ]),
  ];
}

const HINT =
  'add "location = /certificates { control_api certificates; }" to see why orders fail, or run gw acme status';

/** Returns how to see the faults, if there are some that are not shown. */
export function certificateHints(certificates: readonly CertificateStatus[]): readonly string[] {
  const isUnexplained = certificates.some(
    ({ failedOrders = 0, fault }) => failedOrders > 0 && fault === undefined,
  );
  return isUnexplained ? [HINT] : [];
}

function nextOrderText({ ordering, nextOrder }: CertificateStatus): string {
  const seconds = nextOrder === undefined ? 0 : (Date.parse(nextOrder) - Date.now()) / 1000;
  if (ordering === true || seconds < 0) return 'now';
  return nextOrder === undefined ? '-' : `in ${duration(Math.floor(seconds))}`;
}

function expiryText(seconds: number | undefined): string {
  if (seconds === undefined) return 'there is none';
  const whole = Math.floor(Math.abs(seconds));
  return seconds < 0 ? `${duration(whole)} ago` : `in ${duration(whole)}`;
}
