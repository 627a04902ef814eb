/** The customer and the project that every server of the bench is started with. */
import { mintProjectToken } from '../packages/server/src/auth/sign.ts';

export const CUSTOMER = { id: 'bench-customer', secret: 'a customer secret for measuring only' };
export const PROJECT = { id: 'bench-project', secret: 'a project secret for measuring only' };

export const projectToken = (): Promise<string> => mintProjectToken(PROJECT.id, PROJECT.secret, Date.now());
