create table customers (
  id bigint generated always as identity primary key,
  name text not null,
  email text not null unique,
  city text not null,
  created_at timestamptz not null
);

create table products (
  id bigint generated always as identity primary key,
  name text not null unique,
  price_cents integer not null check (price_cents >= 0),
  stock integer not null
);

create table orders (
  id bigint generated always as identity primary key,
  customer_id bigint not null references customers (id),
  product_id bigint not null references products (id),
  quantity integer not null check (quantity > 0),
  status text not null check (status in ('open', 'paid', 'shipped', 'returned')),
  ordered_at timestamptz not null
);

insert into customers (name, email, city, created_at)
select first_name || ' ' || last_name,
  lower(first_name || '.' || last_name || n || '@example.com'),
  (array['Lisbon', 'Oslo', 'Turin', 'Ghent', 'Graz', 'Porto', 'Lyon', 'Bergen'])[1 + n % 8],
  timestamptz '2024-01-01 08:00:00+00' + n * interval '7 hours'
from generate_series(1, 500) as n,
  lateral (select
    (array['Ada', 'Bruno', 'Clara', 'Daan', 'Elif', 'Femi', 'Greta', 'Hugo', 'Ines', 'Jonas'])[1 + n % 10] as first_name,
    (array['Almeida', 'Berg', 'Conti', 'Dumont', 'Eder', 'Fischer', 'Garcia', 'Haugen'])[1 + n / 10 % 8] as last_name) as names;

insert into products (name, price_cents, stock)
select colour || ' ' || thing, 500 + (thing_no * 37 + colour_no * 11) % 95 * 100, (thing_no * 53 + colour_no * 17) % 200
from unnest(array['Red', 'Blue', 'Green', 'Black', 'White', 'Yellow', 'Grey', 'Brown']) with ordinality as colours (colour, colour_no),
  unnest(array['mug', 'lamp', 'chair', 'notebook', 'backpack', 'kettle', 'clock', 'blanket', 'vase', 'bicycle bell'])
    with ordinality as things (thing, thing_no);

insert into orders (customer_id, product_id, quantity, status, ordered_at)
select 1 + n * 7919 % 500, 1 + n * 104729 % 80, 1 + n % 4,
  (array['open', 'paid', 'shipped', 'shipped', 'shipped', 'returned'])[1 + n * 31 % 6],
  timestamptz '2024-06-01 06:00:00+00' + n * interval '3 hours 17 minutes'
from generate_series(1, 4000) as n;

create index orders_customer_id on orders (customer_id);
create index orders_ordered_at on orders (ordered_at);

-- Row counts for the first schema snapshot: a table that was never analysed has unknown risk (SQ-86).
analyze customers, products, orders
