import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts';
import { sessionContractSuite } from '../contract/store-contract.ts';
import { type OwnPgbouncer, skipsPgbouncer, withPgbouncer } from '../support/own-pgbouncer.ts';
import { ownDatabase, skipsPostgres } from '../support/postgres.ts';
import { postgresUrl } from '../support/servers.ts';
import { suiteResource } from '../support/suite-resource.ts';

if (skipsPostgres === false && skipsPgbouncer === false) {
  const bouncer = suiteResource<OwnPgbouncer>((use) => withPgbouncer(postgresUrl(), use));
  const makeSpace = async () => {
    const { url, remove } = await ownDatabase();
    const pooled = (await bouncer.opened).urlOf(url);
    return { open: () => openPostgresStore({ url: pooled }), remove };
  };
  sessionContractSuite('PostgreSQL behind PgBouncer', makeSpace);
}
