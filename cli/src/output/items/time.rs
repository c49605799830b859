//! Datetimes as NumPy prints them.

use b2nd_serde::dtype::TimeUnit;

/// The number of seconds in a day.
const DAY: i128 = 86_400;

/// The ISO 8601 form of a datetime. `count` is the number of units since the start of 1970.
pub(super) fn datetime(count: i64, unit: TimeUnit) -> String {
    let count = i128::from(count) * i128::from(unit.count());
    // `digits` is the number of decimals of a unit below a second, such as 3 for a millisecond. `seconds` is the number
    // of seconds in a longer unit, such as 60 for a minute.
    let (digits, seconds) = match unit.symbol() {
        "Y" => return year(1970 + count),
        "M" => return format!("{}-{:02}", year(1970 + count.div_euclid(12)), count.rem_euclid(12) + 1),
        "W" => return date(count * 7),
        "D" => return date(count),
        "h" => (0, 3600),
        "m" => (0, 60),
        "s" => (0, 1),
        "ms" => (3, 1),
        "us" => (6, 1),
        "ns" => (9, 1),
        "ps" => (12, 1),
        "fs" => (15, 1),
        "as" => (18, 1),
        // A count without a unit is printed as a number.
        _ => return count.to_string(),
    };
    let per_second = 10_i128.pow(digits);
    let (second, fraction) = (count.div_euclid(per_second) * seconds, count.rem_euclid(per_second));
    let (day, second) = (second.div_euclid(DAY), second.rem_euclid(DAY));
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let date = date(day);
    match (digits, seconds) {
        (_, 3600) => format!("{date}T{hour:02}"),
        (_, 60) => format!("{date}T{hour:02}:{minute:02}"),
        (0, _) => format!("{date}T{hour:02}:{minute:02}:{second:02}"),
        _ => {
            let digits = digits as usize;
            format!("{date}T{hour:02}:{minute:02}:{second:02}.{fraction:0digits$}")
        }
    }
}

fn year(year: i128) -> String {
    format!("{year:04}")
}

/// The date of a day that is counted from 1970-01-01. The algorithm is Howard Hinnant's `civil_from_days`. It divides
/// time into eras of 400 years (146,097 days) that begin on 1 March.
fn date(day: i128) -> String {
    // From 0000-03-01 to 1970-01-01, there are 719,468 days.
    let day = day + 719_468;
    let (era, day) = (day.div_euclid(146_097), day.rem_euclid(146_097));
    // Subtracts the leap days, so that every year has 365 days. One day is subtracted for every 4 years of 365 days
    // (1460 days). A century (36,524 days) has one leap day less, so one day is added for every century. But the last
    // day of the era (day 146,096, counted from 0) is a leap day, so it is subtracted.
    let year_of_era = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    // From March on, every five months have 153 days.
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let full = year_of_era + era * 400 + i128::from(month <= 2);
    format!("{}-{month:02}-{day:02}", year(full))
}
