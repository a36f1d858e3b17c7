import type { Endpoint } from './endpoint.ts';

/** `/runtime/certificates`: gives the certificates that servers show, and how their orders go. */
export const certificates: Endpoint = {
  name: 'certificates',
  path: 'certificates',
  description:
    'certificates that servers show: when they end, when they are ordered again, why an order failed',
  compile({ resources: { worker } }) {
    return (x) => {
      const list = worker.certificates.map(
        ({ name, issuer, state, notAfterMs, isOrdered, nextMs = 0, ...more }) => ({
          name,
          ...(issuer !== undefined && { issuer }),
          state,
          not_after: shownTime(notAfterMs),
          ...(issuer !== undefined && {
            ordering: isOrdered === true,
            next_order: nextMs === 0 ? null : shownTime(nextMs),
            failures: more.failures ?? 0,
            fault: more.fault ?? null,
          }),
        }),
      );
      x.send(200, 'application/json', JSON.stringify({ status: 'ok', certificates: list }));
    };
  },
};

function shownTime(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString();
}
