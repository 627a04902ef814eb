import { isId } from '@rollcall/protocol';
import type { CustomerCaller } from '../core/caller.ts';
import { tokenFailure } from '../core/clients/token-failure.ts';
import type { Store } from '../store/store.ts';
import { SESSION_CLAIM } from './access-token.ts';
import type { Jwt } from './jwt.ts';
import { APP_TOKEN, PROJECT_TOKEN } from './project-token.ts';
import { otherKind, type Resolver } from './resolver.ts';
import { isSignedWith, secretKey } from './signature.ts';
import { tokenLife } from './token-life.ts';

export const CUSTOMER_CLAIM = 'customer_id';

/** The claims of the tokens that open a project's data. */
const DATA_CLAIMS = [PROJECT_TOKEN.claim, APP_TOKEN.claim, SESSION_CLAIM];

/** Rejects the tokens that open a project's data, where only its customer may call. */
export const rejectDataToken: Resolver<never> = ({ claims }) =>
  DATA_CLAIMS.some((claim) => Object.hasOwn(claims, claim))
    ? Promise.reject(otherKind('invalid_customer_token'))
    : null;

const invalid = (why: string) => tokenFailure('invalid_customer_token', `the customer token ${why}`);

export function customerTokenResolver(store: Store): Resolver<CustomerCaller> {
  return (token, now) => (Object.hasOwn(token.claims, CUSTOMER_CLAIM) ? callerOf(store, token, now) : null);
}

async function callerOf(store: Store, token: Jwt, now: number): Promise<CustomerCaller> {
  const customerId = token.claims[CUSTOMER_CLAIM];
  const customer = isId(customerId) ? await store.customers.find(customerId) : null;
  // One message for both: whether a customer exists is not for strangers to find out.
  if (customer === null || !isSignedWith(token, secretKey(customer.secret))) {
    throw invalid("is not signed with a customer's secret");
  }
  if (tokenLife(token.claims, now).state !== 'current') throw invalid('is not within its time');
  return { actor: { kind: 'customer_token', id: customer.id }, customerId: customer.id };
}
