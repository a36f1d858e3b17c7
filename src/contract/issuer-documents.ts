import { IssuerDocuments, type IssuerSource, issuerZone } from '../issuer/index.ts';
import { SharedText } from '../zone/index.ts';
import type { WorkerScope } from './scope.ts';

const FETCHES = { name: 'gw_jwks_fetches_total', help: 'Fetches of the keys of issuers.' };

/** Opens the keys and the metadata of an issuer in this worker. The zone of the source (`issuerZone`) must be declared. */
export function openIssuerDocuments(source: IssuerSource, worker: WorkerScope): IssuerDocuments {
  const zone = issuerZone(source).name;
  return worker.share(
    zone,
    () =>
      new IssuerDocuments({
        source,
        shared: new SharedText(worker.zone(zone), worker.workerId),
        tell: (result, fault) => {
          worker.metrics.counter(FETCHES, { result }).add();
          if (result === 'failed') worker.log.write('error', fault);
        },
      }),
    (opened) => opened.close(),
  );
}
